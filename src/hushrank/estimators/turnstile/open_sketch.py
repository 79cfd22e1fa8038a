"""The life of a sketch: opened once, in one process, changed by one thread at a time, charged before noise is drawn."""

import hashlib
import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushrank.archive.attributes import Attribute
from hushrank.base import Sizes
from hushrank.estimators.turnstile.decoding import decode
from hushrank.estimators.turnstile.factorization import learned_by
from hushrank.estimators.turnstile.held import Held, fixed_parameters, hold
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.sketch_plan import SketchPlan
from hushrank.exceptions import InvalidParameter, StateMisuse
from hushrank.privacy import accountant
from hushrank.privacy.cautions import warn_before_charge
from hushrank.privacy.charging import check_payable
from hushrank.privacy.guarantee import Guarantee
from hushrank.privacy.mechanisms.sketch import SketchLattice, blur_sketch, release_sketch
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.ownership import SingleOwner

if TYPE_CHECKING:  # it needs scipy.stats, which is slow to import
    from hushrank.privacy.probes import NoiseProbe

FloatArray = NDArray[np.float64]


class OpenSketch(SingleOwner, TurnstilePlanner):
    """A sketch whose state is opened when it is first needed. It cannot be copied or pickled, nor used after a fork."""

    _owned = "turnstile sketch"
    _danger = "its updates would count twice, and its releases would not know of each other"

    def _take_ownership(self) -> None:
        super()._take_ownership()
        self._lock = threading.RLock()
        self._held: Held | None = None
        self._is_merged = False

    @property
    def _learns(self) -> Mapping[str, Attribute]:
        return learned_by(self)

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        """No model file holds a sketch."""
        raise ValueError("a sketch is no model; what `factorize` returns is one")

    @contextmanager
    def _open(self) -> Iterator[Held]:
        """What the sketch holds, for one thread at a time and in the process that made it."""
        self._check_owner()  # before the lock
        with self._lock:
            if self._held is None:
                self._start(None)
            held = self._held
            assert held is not None
            if self._is_merged:
                raise StateMisuse("this TurnstileSketch was merged into another, which has its updates: use that one.")
            if not held.intake.is_whole:
                raise StateMisuse("a change of this TurnstileSketch was interrupted half way: go on with a checkpoint.")
            if held.parameters != fixed_parameters(self):
                raise StateMisuse("parameters of a TurnstileSketch cannot change after its first use: make a new one.")
            held.intake.skips = self.on_invalid == "skip"
            yield held

    def _start(self, key: bytes | None) -> None:
        """Open an empty state, under a key of operators; a pan-private one is charged for the noise it starts with."""
        held = hold(self, key)
        if self.pan_private:
            arrays, lattice = held.intake.state.arrays, held.plan.lattice
            noise = NoiseSource(None if self.random_state is None else _start_seed(self.random_state))
            budget, planned = self._check_parameters(), (lattice.event,)
            warn_before_charge(budget)
            self._check_payable()
            self._charge_and_run(budget, planned, lambda noise: blur_sketch(arrays, lattice, noise), noise)
            held.n_starts, held.is_charged = 1, self.ledger is not None
        self._held = held

    def _check_payable(self) -> None:
        """Refuse what the ledger cannot pay for from here to the next factorization; nothing is charged.

        Noise in the state is worth nothing without a release: nobody should pay for it and be refused that.
        """
        budget = self._check_parameters()
        plan = self._plan(budget, {})
        n_charges = plan.looks if self._held is None else 1
        check_payable(self.ledger, (plan.lattice.event,) * n_charges, budget, self._unit)

    def _release(self, held: Held) -> tuple[dict[str, Any], Guarantee]:
        """What a factorization learns, and the guarantee of all noise of this sketch so far."""
        if self.random_state is not None and held.n_releases:
            requirement = "None where a sketch is released again: the same noise twice would show what changed"
            raise InvalidParameter("TurnstileSketch", "random_state", requirement, self.random_state)
        if held.is_charged and self.ledger is None:
            requirement = "an account, because releases of this sketch were charged to one; a checkpoint holds none"
            raise InvalidParameter("TurnstileSketch", "ledger", requirement, None)
        budget, planned = self._check_parameters(), (held.plan.lattice.event,)
        warn_before_charge(budget)
        learned, noise = self._charge_and_run(budget, planned, lambda noise: self._learn(held, noise))
        given = accountant.guarantee(held.total(), budget, numerics="exact", reproducible=noise.reproducible)
        return learned, given

    def _learn(self, held: Held, noise: NoiseSource) -> dict[str, Any]:
        held.n_releases += 1  # before anything is drawn: a release that ends half way counts
        held.is_charged = held.is_charged or self.ledger is not None
        state, deviations = held.intake.state, _deviations(held.plan.lattice, 1 + held.n_starts)
        released = release_sketch(state.arrays, held.plan.lattice, noise)  # the only exit
        factors = decode(self.kind, released, state, self.rank, deviations)
        levels = np.array([_root_mean_square(array) for array in released])
        return {
            "U_": factors.U, "s_": factors.s, "Vt_": factors.Vt,
            "levels_": levels, "noise_": deviations[0], "release_": held.n_releases,
        }  # fmt: skip

    def _noise_probe(self, releases: SketchPlan, sizes: Sizes) -> "NoiseProbe | None":
        """Without updates the released arrays are noise, and their levels say how much."""
        if releases.is_pure:  # the sum of squares of Laplace deviates has no law that is written down
            return None
        from hushrank.privacy.probes import NoiseProbe, root_mean_square_level

        arrays, scales = releases.layout.arrays, _deviations(releases.lattice, releases.looks)

        def levels(model: Any) -> dict[str, float]:
            seen = zip(arrays, model.levels_, scales, strict=True)
            return {
                array.name: root_mean_square_level(level / scale, math.prod(array.shape))
                for array, level, scale in seen
            }

        nowhere = np.zeros(20, np.int64)
        return NoiseProbe((nowhere, nowhere, np.zeros(20)), levels, 64)


def _deviations(lattice: SketchLattice, n_noises: int) -> list[float]:
    """Standard deviation of an entry of every array after so many additions of noise."""
    return [lattice.deviation(number) * math.sqrt(n_noises) for number in range(len(lattice.parts))]


def _root_mean_square(array: FloatArray) -> float:
    """Of numbers whose squares may not fit float64."""
    largest = float(np.abs(array).max())
    if largest == 0.0:
        return 0.0
    scaled = array / largest
    return largest * math.sqrt(float(np.vdot(scaled, scaled)) / array.size)


def _start_seed(seed: int) -> int:
    """Another seed, so that the state does not start with the noise of the first release."""
    return int.from_bytes(hashlib.sha256(b"hushrank sketch start %d" % seed).digest()[:8], "big")
