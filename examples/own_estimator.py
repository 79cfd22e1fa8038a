"""An estimator of your own: how many people gave each answer, held to the conformance suite.

You learn: an estimator states parameters, plan, kernel and what it learns; charge, guarantee, files and refusals come
with the base; the suite tries to break all of it, noise included.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from hushrank.archive.attributes import Attribute
from hushrank.checks import conformance_checks
from hushrank.estimator import Param, PrivateEstimator
from hushrank.privacy.calibration import event_for
from hushrank.privacy.mechanisms.counts import counts_scale, release_counts
from hushrank.privacy.planning import counts_step
from hushrank.privacy.probes import NoiseProbe, count_level


class AnswerPlan(NamedTuple):
    """Public numbers of the one release."""

    n_answers: int
    event: Any
    neighbors: Any

    def steps(self) -> tuple[Any, ...]:
        return (counts_step("answers", *self),)


def count_answers(block: Any, n_answers: int) -> Any:
    """The kernel: one person adds 1 to one count, or nothing where the answer is NaN."""
    answers = np.rint(np.clip(block[:, 0], 0, n_answers - 1))
    return (answers[:, np.newaxis] == np.arange(n_answers)).sum(axis=0, dtype=np.int64)


class PrivateAnswers(PrivateEstimator):
    """Numbers of people by their answers 0, 1, ..., n_answers - 1."""

    _params: ClassVar = {"n_answers": Param(int, minimum=2, maximum=100)}
    _learns: ClassVar = {"counts_": Attribute(float, ("n_answers",))}

    def __init__(
        self, n_answers: int, *, epsilon: float, delta: float = 0.0, neighbors: str = "replace",
        ledger: Any = None, random_state: int | None = None, engine: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.n_answers, self.epsilon, self.delta, self.neighbors = n_answers, epsilon, delta, neighbors
        self.ledger, self.random_state, self.engine, self.verbose = ledger, random_state, engine, verbose

    def _plan(self, budget: Any, sizes: Any) -> AnswerPlan:
        return AnswerPlan(self.n_answers, event_for(budget), budget.neighbors)

    def _forecast(self, releases: AnswerPlan, sizes: Any) -> dict[str, float]:
        return {"error of a share": counts_scale(*releases) / sizes["n_samples"]}

    def _fit(self, source: Any, releases: AnswerPlan, noise: Any, total: Any) -> dict[str, Any]:
        secret = total(count_answers, self.n_answers)  # bound and sum
        released = release_counts(secret, releases.event, noise, releases.neighbors)  # the only exit
        return {"counts_": released.astype(float)}

    def _noise_probe(self, releases: AnswerPlan, sizes: Any) -> NoiseProbe:
        """Twenty people who all answer 0: whatever else a model shows is noise."""
        truth = np.append(20, np.zeros(self.n_answers - 1))

        def levels(model: Any) -> dict[str, float]:
            scale, rest = counts_scale(*releases), enumerate(model.counts_ - truth)
            return {f"answer {j}": count_level(int(noise), scale, releases.event) for j, noise in rest}

        return NoiseProbe(np.zeros((20, sizes["n_features"])), levels)


X = np.random.default_rng(0).binomial(2, 0.4, size=(1000, 1))  # 1000 people said no (0), maybe (1) or yes (2)
checks = list(conformance_checks(PrivateAnswers(3, epsilon=1.0), X[:41]))
for _, check in checks:
    check()
print(f"passed all {len(checks)} checks, among them {', '.join(name for name, _ in checks[-2:])}")
print("people by answer, with noise:", *PrivateAnswers(3, epsilon=1.0).fit(X).counts_.astype(int))
