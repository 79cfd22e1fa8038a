"""Turnstile sketches: a matrix too large to keep, known by its updates, factorized privately when asked for.

Statistic  integer sketches of A = sum of updates, each clipped to `bound` and rounded to a public lattice.
Release    all arrays of the sketch with fresh noise, once for every factorization; the rest is post-processing.
Privacy    docs/privacy/turnstile.md, Theorem 1 (one release) and Theorem 2 (several, of one sketch).
"""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np

from hushrank.archive.seal_keys import load_key
from hushrank.archive.sealed import read_sealed, write_sealed
from hushrank.data.findings import Check
from hushrank.data.records.user_ids import read_user_ids
from hushrank.data.updates.reading import read_updates
from hushrank.data.updates.source import UpdateChunk, Updates
from hushrank.data.vectors import read_vector
from hushrank.estimators.turnstile.checkpoint import describe_sketch, restore_held, restore_parameters
from hushrank.estimators.turnstile.elsewhere import IntakeTerms, add_elsewhere
from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.held import Held, add_sketch
from hushrank.estimators.turnstile.layout import L1_UNITS
from hushrank.estimators.turnstile.open_sketch import OpenSketch
from hushrank.estimators.turnstile.update_check import check_updates
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Unit

_OWNER = "TurnstileSketch"


class TurnstileSketch(OpenSketch):
    """A private sketch of a matrix that is given by a stream of updates (row, column, delta).

    Updates are added as they come, sketches of parts of a stream are merged, and a private factorization of the whole
    is released at the end or at any moment. What is kept does not grow with the stream.

    Parameters
    ----------
    shape : pair of int
        Rows and columns of the matrix, public.
    rank : int
        Components of a factorization.
    epsilon, delta : float
        What one factorization costs; delta = 0, for units "entry" and "user", is pure.
    unit : {"entry", "user", "row", "rank1", "frobenius"}, default "entry"
        What neighboring streams differ in: over any stretch of time their updates, as clipped and rounded (`plan` tells
        the step), sum up to matrices that differ by E, with sum |E_ij| <= bound ("entry"; "user": all entries a user
        touches), or of Frobenius norm at most `bound` and one row ("row"), of rank one ("rank1") or any ("frobenius").
    bound : float, default 1.0
        How large a change is hidden.
    clip : float, "auto" or "none", default "auto"
        Largest magnitude of an update, to which larger ones are clipped; rows of `update_rows` are shortened to it.
        "auto" is `bound`, so that one update is hidden altogether, and "none" for units "rank1" and "frobenius", which
        hide changes of the matrix and not single updates.
    kind : {"two_sketch", "three_sketch", "figure1", "figure3", "full"}, default "two_sketch"
        Which arrays are kept and how they are decoded. "full" keeps the matrix itself: the most accurate where it fits
        the memory. "figure1" and "figure3" decode as printed in the paper, for comparison.
    operator : {"auto", "sparse_sign", "gaussian", "srht"}, default "auto"
        Random operators. "auto" is "sparse_sign" for units "entry" and "user", "gaussian" for others.
    per_column : int, optional
        Signs in a column of "sparse_sign". Default: 4, and 1 where delta is 0.
    sketch_sizes : pair of int (t, v), optional
        Widths of the sketches. Larger ones are more accurate. Default: by rank.
    integers : {"int64", "int32"}, default "int64"
        Of the state. int32 takes half of the memory and a coarser lattice, 1024 units in `bound`.
    pan_private : bool, default False
        Noise in the state from the start, beside that of every output: one look at the state is then private as well.
    user_totals : {"counted", "promised"}, default "counted"
        Who bounds a user's total over the whole stream, for unit "user": a counter for every user, which takes memory,
        or the caller, by a promise that the guarantee repeats.
    on_invalid : {"raise", "skip"}, default "raise"
        What happens to updates outside of the matrix or not finite: the whole call is refused, or they are left out.
    memory : int, default 2**32
        Bytes that state and operators may take; more is refused before it is taken.
    neighbors : {"add_remove", "replace"}, default "add_remove"
        A change is there or not, or is replaced by another one.
    ledger : account of a Ledger, optional
        Charged for every factorization. Without it `privacy_` of each counts all releases of this sketch.
    random_state : int, optional
        For tests: the same operators and noise every time. Such a sketch can be factorized once.

    Examples
    --------
    >>> import hushrank as hr
    >>> sketch = hr.TurnstileSketch(shape=(50, 40), rank=2, epsilon=1.0, delta=1e-6, random_state=0)
    >>> sketch.update([0, 7, 0], [3, 9, 3], [1.0, 1.0, -1.0])
    TurnstileSketch(shape=(50, 40), rank=2, epsilon=1.0, delta=1e-06, random_state=0)
    >>> found = sketch.factorize()
    >>> found.U.shape, found.s.shape, found.Vt.shape, round(found.privacy_.epsilon, 6)
    ((50, 2), (2,), (2, 40), 1.0)
    """

    def __init__(
        self, shape: Any, rank: int, *, epsilon: float, delta: float = 0.0, unit: str = "entry", bound: float = 1.0,
        clip: float | str = "auto",
        kind: str = "two_sketch", operator: str = "auto", per_column: int | None = None, sketch_sizes: Any = None,
        integers: str = "int64", pan_private: bool = False, user_totals: str = "counted", on_invalid: str = "raise",
        memory: int = 2**32, neighbors: str = "add_remove", ledger: Any = None, random_state: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            shape=shape, rank=rank, epsilon=epsilon, delta=delta, unit=unit, bound=bound, clip=clip, kind=kind,
            operator=operator, per_column=per_column, sketch_sizes=sketch_sizes, integers=integers,
            pan_private=pan_private, user_totals=user_totals, on_invalid=on_invalid, memory=memory,
            neighbors=neighbors, ledger=ledger, random_state=random_state,
        )  # fmt: skip
        self._take_ownership()

    def update(self, rows: Any, cols: Any = None, deltas: Any = None, *, users: Any = None, engine: Any = None) -> Self:
        """Add deltas[e] to the entry (rows[e], cols[e]) of the matrix, for every e.

        Parameters
        ----------
        rows, cols : array-like of int
            Counted from 0. In place of `rows`, all may be given by a sparse matrix, a table with columns row, column
            and delta (and user), the path of such a CSV or Parquet file or folder, or an iterator of blocks of those.
        deltas : array-like of float
            Each is clipped to `bound` and rounded to the lattice, alone.
        users : array-like of int or str, optional
            Whose update it is, for unit "user" with counted totals.
        engine : DaskEngine or "dask", optional
            Let a cluster read files or a dask DataFrame and add them up, all of them or none. What this process alone
            can read it adds itself. The state has the same bits.

        Raises
        ------
        InvalidParameter
            With `on_invalid="raise"`, if an update is outside of the matrix or not finite. Nothing was added then; of
            an iterator, blocks before that one were. Also if a sum of integers overflows: that batch was not added,
            batches of 2^22 updates, blocks and pieces of files before it were.
        """
        with self._open() as held:
            needs_users = held.intake.totals is not None
            source = read_updates(rows, cols, deltas, users, shape=self._shape, owner=_OWNER, needs_users=needs_users)
            if engine is None or not self._add_elsewhere(held, source, engine):
                held.intake.add_all(source)
        return self

    def _add_elsewhere(self, held: Held, updates: Updates, engine: Any) -> bool:
        """Let an engine add updates that others can read; False if nobody can."""
        from hushrank.estimator import find_folding_engine  # with scikit-learn, which a sketch does not need

        found = find_folding_engine(engine, _OWNER)
        if found is None:
            return False
        if self.pan_private:
            requirement = "None for a pan-private sketch: sums of workers have no noise"
            raise InvalidParameter(_OWNER, "engine", requirement, found)
        intake, dtype = held.intake, np.dtype(self.integers)
        is_promised = self._unit is Unit.USER and not self._counts_users
        spent = None if intake.totals is None else intake.totals.content()
        terms = (held.plan.lattice, held.plan.layout, held.key, dtype, self._shape, self._clip, is_promised, spent)
        return add_elsewhere(intake, IntakeTerms(*terms), updates, found)

    def check(self, rows: Any, cols: Any = None, deltas: Any = None, *, users: Any = None) -> Check:
        """What `update` would do to these updates, for the data holder: nothing is added or charged. NOT PRIVATE."""
        return check_updates(self, rows, cols, deltas, users)

    def update_chunk(self, chunk: UpdateChunk) -> Self:
        """Add one chunk of updates as readers of `hushrank.data.updates` give them: all of it or, if refused, none."""
        with self._open() as held:
            held.intake.add(chunk)
        return self

    def update_rows(self, rows: Any, X: Any, *, users: Any = None) -> Self:
        """Add the row X[i] to row rows[i] of the matrix, for every i.

        For units "entry" and "user" every entry is an update of its own; for others each row is one, and is shortened
        as a whole to the Euclidean norm `bound`.

        Parameters
        ----------
        rows : array-like of int
        X : array, sparse matrix or table of shape (n_rows_given, n_columns)
        users : array-like of int or str, optional
            A user for each row, for unit "user" with counted totals.
        """
        with self._open() as held:
            indices = read_vector(rows, "rows", _OWNER)
            if indices.dtype.kind not in "iu":
                raise InvalidParameter(_OWNER, "rows", "a vector of integers", f"{indices.dtype}")
            needs_users = held.intake.totals is not None
            if needs_users == (users is None):
                requirement = "given for each row" if needs_users else "None, because no totals are counted"
                raise InvalidParameter(_OWNER, "users", requirement, type(users).__name__)
            theirs = None if users is None else read_user_ids(users, len(indices), _OWNER)
            held.intake.add_rows(indices.astype(np.int64), X, theirs, as_wholes=self._unit not in L1_UNITS)
        return self

    @classmethod
    def from_csr(cls, matrix: Any, rank: int, **parameters: Any) -> Self:
        """A sketch of the shape of a sparse matrix, with its stored entries as updates."""
        return cls(shape=tuple(matrix.shape), rank=rank, **parameters).update(matrix)

    def new_shard(self) -> Self:
        """An empty sketch with the same parameters and operators, for another part of the stream; see `merge`."""
        with self._open() as held:
            shard = type(self)(**self._parameters())
            shard._start(held.key)
            return shard

    def merge(self, other: "TurnstileSketch") -> Self:
        """Add the updates of a sketch that `new_shard` made, or that has the same seed: the same bits as one stream.

        The releases of both count from now on. The other sketch is closed: its updates are in this one, where what it
        released later would not be counted.
        """
        if not isinstance(other, TurnstileSketch):
            raise InvalidParameter(_OWNER, "other", "a TurnstileSketch", type(other).__name__)
        if other is self:
            raise InvalidParameter(_OWNER, "other", "another sketch: these updates are in this one", "itself")
        for one in (self, other):
            one._check_owner()  # before the locks
        # One order for all pairs, so that two sketches that merge each other do not wait for each other.
        first, second = (self, other) if id(self) < id(other) else (other, self)
        with first._lock, second._lock, self._open() as mine, other._open() as theirs:
            add_sketch(mine, theirs)
            other._is_merged = True
        return self

    def save(self, path: str | PathLike[str], *, key: Any = None, position: Mapping[str, Any] | None = None) -> None:
        """Write a checkpoint: the state with all it holds. IT IS A SECRET, as the data are.

        The file is replaced as a whole or not at all, only its owner can read it, and it is sealed: `load` refuses any
        other.

        Parameters
        ----------
        path : path
        key : bytes, or path of a key file, optional
            Of the seal. Default: the user's own, made when it is first needed (docs/privacy/formats.md).
        position : dict, optional
            Where the caller is in the stream, as JSON has it; `load` gives it back as `position`.
        """
        with self._open() as held:
            content, arrays = describe_sketch(self, held, position if position is None else dict(position))
            write_sealed(path, content, arrays, load_key(key))

    @classmethod
    def load(cls, path: str | PathLike[str], *, key: Any = None) -> Self:
        """Go on with a checkpoint that `save` wrote with this key; CheckpointError for any other file.

        A ledger is not part of it: set `ledger` again. Releases made after it was written are not known to it, so count
        with a ledger, or save after every release.
        """
        content, arrays = read_sealed(path, load_key(key))
        sketch = cls(**restore_parameters(cls, content, path))
        sketch._held = restore_held(sketch, content, arrays)
        return sketch

    @property
    def position(self) -> dict[str, Any] | None:
        """Where the caller was in the stream when the checkpoint was written that this sketch was loaded from."""
        return None if self._held is None else self._held.position

    @property
    def n_releases(self) -> int:
        """How often this sketch, or one that was merged into it, was factorized."""
        return 0 if self._held is None else self._held.n_releases

    @property
    def is_charged(self) -> bool:
        """Whether a ledger paid for a release of it; then one must pay for the next."""
        return self._held is not None and self._held.is_charged

    def factorize(self) -> Factorization:
        """Release a private factorization of the matrix as it is now, with fresh noise; each time costs anew.

        Returns
        -------
        factorization : Factorization
            U, s, Vt and `privacy_`, which counts all releases of this sketch.
        """
        with self._open() as held:
            learned, given = self._release(held)
            spent = {"epsilon": max(float(self.epsilon), given.epsilon), "ledger": None}
            found = Factorization(**{**self._parameters(), **spent})
            found._keep({**learned, "privacy_": given})
            return found
