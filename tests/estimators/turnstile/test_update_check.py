"""What `TurnstileSketch.check` tells about updates: nothing is added, and no state is made."""

import numpy as np
import pytest

from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import InvalidParameter

TERMS = {"shape": (4, 5), "rank": 1, "epsilon": 1.0, "delta": 1e-6}


class Untouched:
    """An account that nobody may charge."""

    def charge(self, *arguments, **terms):
        raise AssertionError("charged")


@pytest.mark.parametrize("pan_private", [False, True])
def test_nothing_is_added_or_charged(pan_private):
    sketch = TurnstileSketch(**TERMS, pan_private=pan_private, ledger=Untouched())
    check = sketch.check([1, 4], [1, 5], [1.0, 3.0])
    assert sketch._held is None and dict(check.counts) == {"n_updates": 2, "n_rows": 4, "n_columns": 5}
    assert [finding.name for finding in check.findings if finding.level == "problem"] == ["outside_matrix"]


def test_the_clip_and_the_budget_are_those_of_the_sketch():
    names = [finding.name for finding in TurnstileSketch(**{**TERMS, "epsilon": 30.0}).check([0], [0], [2.0]).findings]
    assert names[:2] == ["clipped_updates", "caution"]
    assert "clipped_updates" not in [
        f.name for f in TurnstileSketch(**TERMS, bound=2.0).check([0], [0], [2.0]).findings
    ]


def test_users_are_needed_where_they_are_counted():
    sketch = TurnstileSketch(**TERMS, unit="user")
    with pytest.raises(InvalidParameter, match="users"):
        sketch.check([0], [0], [1.0])
    found = sketch.check([0, 1], [0, 1], np.ones(2), users=["ann", None]).findings
    assert found[0].name == "updates_without_user"


def test_a_large_budget_is_warned_of_before_a_release():
    with pytest.warns(UserWarning, match="epsilon = 30 promises next to nothing"):
        TurnstileSketch(**{**TERMS, "epsilon": 30.0}).update([0], [0], [1.0]).factorize()
