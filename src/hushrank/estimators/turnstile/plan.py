"""Parameters of `TurnstileSketch` and its plan: which arrays are kept, on which lattice, and what a release costs.

The sketch, its factorizations and the command line use this; nothing here needs numba or scikit-learn.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from hushrank.base import Param, PrivateRelease, Sizes
from hushrank.estimators.cluster_times import ClusterWork
from hushrank.estimators.turnstile.layout import (
    KINDS,
    L1_UNITS,
    MOST_WIDTH,
    OPERATORS,
    THREE,
    Layout,
    build_layout,
    default_sizes,
)
from hushrank.estimators.turnstile.resources import StreamWork, cluster_work, stream_resources
from hushrank.estimators.turnstile.sketch_plan import HOPELESS, SketchPlan, notes_on_error, notes_on_space
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import PairParam
from hushrank.privacy.guarantee import Budget, Unit
from hushrank.privacy.mechanisms.sketch import SketchLattice, sketch_lattice

_OF_MATRICES = (Unit.RANK1, Unit.FROBENIUS)
UNITS = (Unit.ENTRY, Unit.USER, Unit.ROW, Unit.RANK1, Unit.FROBENIUS)
INTEGERS = {"int64": 16, "int32": 10}
"""Bits of the bound in lattice units, by the width of the state's integers."""

_NARROW_NOISE, _WIDE_NOISE = 26, 50  # bits of a standard deviation, far below those of int32 and int64
_CORE_BITS = 8  # a Gaussian core multiplies two rounded matrices
_DEFAULT_MEMORY = 2**32
MOST_CLIP = 256

CHOSEN_BLINDLY = "nobody chooses updates who knows the random key of the sketch, or has seen a release of it"
SMALL = "no update is larger than the bound, beyond which it is hidden only in part"
PROMISED = "the caller keeps the L1 total of each user's updates, over the whole stream, within the bound"


class TurnstilePlanner(PrivateRelease):
    """Parameters and plan of `TurnstileSketch`."""

    _sizes: ClassVar[Mapping[str, Param]] = {
        "n_updates": Param(int, minimum=1, option="updates", help="Number of updates, or a public guess of it."),
        "n_rows": Param(int, minimum=1, option=None),
        "n_columns": Param(int, minimum=1, option=None),
    }
    _schema: ClassVar[Mapping[str, str]] = {}
    _params: ClassVar[Mapping[str, Param]] = {
        "shape": PairParam(
            tuple, minimum=1, maximum=2**40, metavars=("ROWS", "COLUMNS"), help="Public rows and columns of the matrix."
        ),
        "rank": Param(int, minimum=1, help="Components of a factorization."),
        "unit": Param(
            words=tuple(unit.value for unit in UNITS),
            default="entry",
            help="What one unit of privacy changes: an entry, a user's entries, a row, or a matrix.",
        ),
        "bound": Param(
            float, above=0, default=1.0, help="By how much: L1 norm for entry and user, Euclidean norm for others."
        ),
        "clip": Param(
            float,
            above=0,
            words=("auto", "none"),
            default="auto",
            help="Largest magnitude of an update; auto: the bound, and none for rank1 and frobenius.",
        ),
        "kind": Param(words=KINDS, default="two_sketch", help="Which sketch; full keeps the matrix itself."),
        "operator": Param(
            words=("auto", *OPERATORS),
            default="auto",
            help="Random operators; auto: sparse_sign for entry and user, gaussian for others.",
        ),
        "per_column": Param(
            int, minimum=1, maximum=64, optional=True, default=None,
            help="Signs in a column of sparse_sign. Default: 4, and 1 where delta is 0.",
        ),
        "sketch_sizes": PairParam(
            tuple, minimum=1, maximum=MOST_WIDTH, optional=True, default=None, metavars=("T", "V"),
            help="Widths of the two sketches, or of sketches and core. Default: by rank.",
        ),
        "integers": Param(words=tuple(INTEGERS), default="int64", help="Width of the state's integers."),
        "pan_private": Param(
            bool, default=False, help="Noise in the state as well, so that one look at it is private."
        ),
        "user_totals": Param(
            words=("counted", "promised"),
            default="counted",
            help="Who bounds a user's total: a counter for every user, or the caller by promise.",
        ),
        "on_invalid": Param(
            words=("raise", "skip"),
            default="raise",
            help="Updates outside of the matrix or not finite: refuse the batch, or leave them out.",
        ),
        "memory": Param(
            int, minimum=1, default=_DEFAULT_MEMORY, help="Bytes that the state and its operators may take."
        ),
        "neighbors": replace(PrivateRelease._common["neighbors"], default="add_remove"),
    }  # fmt: skip

    shape: Any
    rank: int
    unit: str
    bound: float
    clip: float | str
    kind: str
    operator: str
    per_column: int | None
    sketch_sizes: Any
    integers: str
    pan_private: bool
    user_totals: str
    on_invalid: str
    memory: int

    @property
    def _unit(self) -> Unit:  # type: ignore[override]  # the base has one for all objects of a class
        return Unit(self.unit)

    def _check_parameters(self) -> Budget:
        budget = super()._check_parameters()
        self._check_choices(budget)
        layout = self._layout()
        needed = layout.n_cells * self._integer_bytes + layout.stored_bytes
        if needed > self.memory:
            requirement = f"at least {needed} bytes for these sizes; {self._less_memory} take less"
            raise InvalidParameter("TurnstileSketch", "memory", requirement, self.memory)
        lattice = self._lattice(budget, layout)
        if self.ledger is not None and lattice.is_random:
            requirement = (
                "None where a guarantee rests on a random sketch, whose cost is no sum of mu^2; with a ledger use "
                "unit='entry' or 'user' with signs, or kind='full'"
            )
            raise InvalidParameter("TurnstileSketch", "ledger", requirement, "an account")
        return replace(budget, premise=self._premise(lattice), bound=float(self.bound))

    def _check_choices(self, budget: Budget) -> None:
        """Refuse what does not go together."""
        owner, (n_rows, n_columns) = "TurnstileSketch", self._shape
        if self.rank > min(n_rows, n_columns):
            raise InvalidParameter(owner, "rank", f"at most {min(n_rows, n_columns)}, as rows and columns", self.rank)
        if self.kind == "full" and (self.operator != "auto" or self.sketch_sizes is not None):
            name = "operator" if self.operator != "auto" else "sketch_sizes"
            raise InvalidParameter(owner, name, "left at its default for kind='full'", getattr(self, name))
        if self.kind != "full":
            self._check_sizes_of_sketches()
        if self._clip is not None and self._clip > MOST_CLIP * self.bound:
            requirement = f"at most {MOST_CLIP} times the bound, or 'none'"
            raise InvalidParameter(owner, "clip", requirement, self.clip)
        is_gaussian = self._operator == "gaussian" and self.kind != "full"
        if (is_gaussian or self.pan_private) and self.integers == "int32":
            reason = "Gaussian operators" if is_gaussian else "noise in the state"
            raise InvalidParameter(owner, "integers", f"'int64' for {reason}", self.integers)
        if self.pan_private and self._counts_users:
            requirement = "'promised' for a pan-private state: counters of users would be no secret in it"
            raise InvalidParameter(owner, "user_totals", requirement, self.user_totals)
        if budget.is_pure and (is_gaussian or self._unit not in L1_UNITS):
            what = "Gaussian operators" if is_gaussian else f"unit {self.unit!r}"
            requirement = f"> 0 for {what}: the sum of magnitudes of a change has no bound, which pure privacy needs"
            raise InvalidParameter(owner, "delta", requirement, budget.delta)

    def _check_sizes_of_sketches(self) -> None:
        owner, (t, v) = "TurnstileSketch", self._sketch_sizes
        if min(t, v) < self.rank or (self.kind != "two_sketch" and v < t):
            requirement = f"a pair (t, v) with t and v >= {self.rank}, the rank"
            requirement += "" if self.kind == "two_sketch" else f", and v >= t for kind={self.kind!r}"
            raise InvalidParameter(owner, "sketch_sizes", requirement, (t, v))
        if self._operator == "sparse_sign" and self._per_column > min(t, v):
            requirement = f"at most {min(t, v)}, the smaller width of the sketches"
            raise InvalidParameter(owner, "per_column", requirement, self._per_column)

    def _premise(self, lattice: SketchLattice) -> str:
        is_promised = self._unit is Unit.USER and not self._counts_users
        is_free = self._unit not in _OF_MATRICES and (self._clip is None or self._clip > self.bound)
        return "; ".join([CHOSEN_BLINDLY] * lattice.is_random + [PROMISED] * is_promised + [SMALL] * is_free)

    @property
    def _less_memory(self) -> str:
        return "kind='two_sketch' or int32" if self.kind == "full" else "smaller sketch_sizes or int32"

    @property
    def _counts_users(self) -> bool:
        return self._unit is Unit.USER and self.user_totals == "counted"

    @property
    def _shape(self) -> tuple[int, int]:
        n_rows, n_columns = self.shape
        return int(n_rows), int(n_columns)

    @property
    def _sketch_sizes(self) -> tuple[int, int]:
        if self.sketch_sizes is None:
            return default_sizes(self._shape, self.rank, self.kind)
        t, v = self.sketch_sizes
        return int(t), int(v)

    @property
    def _clip(self) -> float | None:
        """Largest magnitude of an update; None where updates are as large as they are."""
        if isinstance(self.clip, str):
            is_clipped = self.clip == "auto" and self._unit not in _OF_MATRICES
            return float(self.bound) if is_clipped else None
        return float(self.clip)

    @property
    def _operator(self) -> str:
        if self.operator != "auto":
            return self.operator
        return "sparse_sign" if self._unit in L1_UNITS else "gaussian"

    @property
    def _per_column(self) -> int:
        """More signs keep norms better; Laplace noise grows with their number."""
        if self.per_column is not None:
            return self.per_column
        return 1 if self.delta == 0 else min(4, *self._sketch_sizes)

    def _layout(self) -> Layout:
        sizes = self._sketch_sizes if self.kind != "full" else (0, 0)
        return build_layout(self._shape, self.kind, self._operator, self._per_column, sizes, self._unit)

    def _lattice(self, budget: Budget, layout: Layout) -> SketchLattice:
        bits = INTEGERS[self.integers]
        if self.kind in THREE and layout.operator == "gaussian":
            bits = min(bits, _CORE_BITS)
        parts = [array.part for array in layout.arrays]
        most_bits = _NARROW_NOISE if self.integers == "int32" else _WIDE_NOISE
        return sketch_lattice(self.bound, budget, parts, most_units=2**bits, most_bits=most_bits, looks=self._looks)

    @property
    def _integer_bytes(self) -> int:
        return 4 if self.integers == "int32" else 8

    @property
    def _looks(self) -> int:
        return 2 if self.pan_private else 1

    def _plan(self, budget: Budget, sizes: Sizes) -> SketchPlan:
        layout = self._layout()
        lattice = self._lattice(replace(budget, premise="", bound=None), layout)
        return SketchPlan(layout, lattice, self._looks, self.rank)

    def _known_sizes(self) -> dict[str, int]:
        n_rows, n_columns = self._shape
        return {"n_updates": n_rows * n_columns, "n_rows": n_rows, "n_columns": n_columns}

    def _check_sizes(self, shape: Any, sizes: Mapping[str, Any]) -> dict[str, int]:
        known = super()._check_sizes(shape, sizes)
        if (known["n_rows"], known["n_columns"]) != self._shape:
            got = (known["n_rows"], known["n_columns"])
            raise InvalidParameter(type(self).__name__, "n_rows", f"as in the shape {self._shape}", got)
        return known

    def _forecast(self, releases: SketchPlan, sizes: Sizes, **guesses: float) -> dict[str, float]:
        """Against the norm that so many distinct updates of the largest size would have."""
        signal = float(self.bound) * math.sqrt(sizes["n_updates"])
        noise = releases.noise * math.sqrt(self.rank * sum(self._shape))
        return {
            "noise of a factorization, against the norm of distinct updates": noise / signal,
            "smallest singular value above the noise, against that norm": releases.smallest_value / signal,
        }

    def _resources(self, releases: SketchPlan, sizes: Sizes) -> dict[str, float]:
        """Of the state, an update and a factorization: how many updates there will be is a guess, unless counted."""
        return stream_resources(self._work(releases))

    def _cluster_work(self, releases: SketchPlan, sizes: Sizes, **guesses: float) -> ClusterWork:
        return cluster_work(self._work(releases), sizes["n_updates"])

    def _work(self, releases: SketchPlan) -> StreamWork:
        return StreamWork(releases.layout, self.kind, self.rank, self._integer_bytes, self._counts_users)

    def _notes(self, releases: SketchPlan, sizes: Sizes) -> Iterator[str]:
        yield from notes_on_space(releases, self._integer_bytes)
        yield from notes_on_error(releases, self._shape, self._integer_bytes, self.memory)
        if float(self.bound) * math.sqrt(sizes["n_updates"]) < releases.smallest_value:
            yield HOPELESS
        if self._unit in L1_UNITS and not releases.is_pure:
            yield from self._note_on_laplace(releases)
        if self._clip is None or self._clip > self.bound:
            yield "an update that is larger than the bound is hidden only in part: clip=bound hides all of it"
        if self._counts_users:
            yield "a counter for every user is kept, about 100 bytes each"

    def _note_on_laplace(self, releases: SketchPlan) -> Iterator[str]:
        """Where magnitudes are bounded, Laplace noise may be smaller than Gaussian noise."""
        if self.operator not in ("auto", "sparse_sign"):
            return
        pure = TurnstilePlanner(**{**self._parameters(), "delta": 0.0, "per_column": None, "ledger": None})
        noise = pure._plan(pure._check_parameters(), {}).noise
        if noise < releases.noise:
            yield f"for one release delta=0 is better: the standard deviation of an entry is then {noise:.6g}"
