"""Whether directions are drawn together follows from public numbers; releases stand in their order."""

import numpy as np
import pytest

from hushrank.estimators.second_moment.orbit_plan import plan_orbit
from hushrank.privacy.events import Pure, Repeated
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field

D = 5


def plan(rank=2, *, levels=None, epsilon=1.0, share=None, field="real", strategy="joint", neighbors="replace", d=D):
    events = {"vectors": Pure(epsilon)} if share is None else {"eigenvalues": Pure(share), "vectors": Pure(epsilon)}
    terms = {"row_norm": 1.0, "neighbors": Neighbors(neighbors), "n_features": d, "n_max": 2**20}
    return plan_orbit(events, levels=levels, rank=rank, strategy=strategy, field=Field(field), **terms)


@pytest.mark.parametrize(
    ("strategy", "rank", "d", "joint"),
    [
        ("auto", 8, 500, True),
        ("auto", 8, 501, False),
        ("auto", 1, 2000, True),
        ("joint", 8, 600, True),
        ("sequential", 3, 5, False),
        ("sequential", 1, 5, True),
    ],
)
def test_the_strategy_follows_from_public_numbers(strategy, rank, d, joint):
    releases = plan(rank, levels=np.ones(rank), strategy=strategy, d=d)
    assert releases.is_joint == joint
    expected = Pure(1.0, True) if joint else Repeated(Pure(1.0 / rank, True), rank)
    assert [step.event for step in releases.steps()] == [expected]
