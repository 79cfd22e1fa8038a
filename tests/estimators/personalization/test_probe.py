"""Records on which gains are noise alone, from both sides; and the law of choices, in whole fits.

All fits have seeds. Statistics reject at 1e-9, as everywhere.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.personalization.candidate_scores import CandidateState, score_candidates
from hushrank.estimators.personalization.exponential import round_candidates
from hushrank.estimators.personalization.exponential_options import ExponentialSelection, round_events
from hushrank.estimators.personalization.options import GradientSteps
from hushrank.privacy import adaptive
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.mechanisms.selection import selection_lattice
from representation_support import make_people, representation, to_records
from support import FALSE_ALARM, assert_plausible, chi2_p_value, normal_scale_p_value

pytestmark = pytest.mark.law

ONE_STEP = {"method": GradientSteps(1)}
SIZES = {"n_users": 20, "n_features": 3}


def probe_of(model):
    return model._noise_probe(model._plan(model._check_parameters(), SIZES), SIZES)


def noises(n_fits, **terms):
    """First gains and differences to them, over their deviation, and levels of the probe, of fits that see nothing."""
    probe = probe_of(representation(**terms))
    fits = [representation(**terms, random_state=seed).fit(*probe.data) for seed in range(n_fits)]
    released = [np.append(fit.gains_[0], fit.gains_[1:] - fit.gains_[0]) / fit.gain_deviation_ for fit in fits]
    return np.array(released), [probe.levels(fit) for fit in fits]


@pytest.mark.parametrize(
    "terms", [{}, {"neighbors": "add_remove"}, {"loss": "logistic"}, {"method": "altmin"}, {"n_users": 10**6}]
)
def test_gains_of_nobody_are_noise_of_the_stated_scale(terms):
    found, levels = noises(60, **{**ONE_STEP, **terms})
    assert_plausible(normal_scale_p_value(found, 1.0))
    assert_plausible(stats.kstest([level["gains of users"] for level in levels], "uniform").pvalue)


def test_more_and_less_noise_are_noticed(monkeypatch):
    """At 0.7 and 1.3 of the scale, and where a mechanism halves the noise of a sum."""
    found, _ = noises(160, **ONE_STEP)  # 800 normals: 0.7 and 1.3 of the scale lie far off
    assert_plausible(normal_scale_p_value(found, 1.0))
    for factor in (0.7, 1.3):
        assert normal_scale_p_value(factor * found, 1.0) < FALSE_ALARM
    release = adaptive.release_vector

    def halve(total, lattice, noise):
        return (total * lattice.unit + release(total, lattice, noise)) / 2

    monkeypatch.setattr(adaptive, "release_vector", halve)
    assert normal_scale_p_value(noises(60, **ONE_STEP)[0], 1.0) < FALSE_ALARM


def test_a_choice_has_no_probe():
    assert probe_of(representation(delta=0.0, method="exponential")) is None


# Choices


CHOICE = ExponentialSelection(rounds=2, candidates=4)
PEOPLE, _ = make_people(40, 3, 1, seed=9)
RECORDS = to_records(PEOPLE)


def law_of_choices(neighbors, factor=1.0):
    """Probability of every embedding that two rounds of choices can end with, by its bytes."""
    source, law = representation(1)._read(*RECORDS), Counter()
    events = round_events(Budget(2.0, 0.0, neighbors, "user"), CHOICE)
    lattices = [selection_lattice(CHOICE.range_bound, event, neighbors) for event in events]

    def chances(candidates, lattice):
        scores = sum(score_candidates(block, CandidateState(candidates, lattice)) for block in source.blocks())
        weights = np.exp(factor * float(lattice.rate) * (scores - scores.max()))
        return weights / weights.sum()

    first = round_candidates(np.eye(3, 1), CHOICE, 0)
    for U, chance in zip(first, chances(first, lattices[0]), strict=True):
        second = round_candidates(U, CHOICE, 1)
        for last, then in zip(second, chances(second, lattices[1]), strict=True):
            law[last.tobytes()] += chance * then
    return law


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_choices_follow_their_law_and_no_other(neighbors):
    terms = {"epsilon": 2.0, "delta": 0.0, "method": CHOICE, "neighbors": neighbors}
    fits = (representation(1, **terms, random_state=seed).fit(*RECORDS) for seed in range(1200))
    seen = Counter(np.ascontiguousarray(fit.embedding_).tobytes() for fit in fits)
    law = law_of_choices(neighbors)
    assert set(seen) <= set(law) and len(law) == 16
    assert_plausible(chi2_p_value([seen[one] for one in law], list(law.values())))
    for factor in (0.5, 2.0):
        other = law_of_choices(neighbors, factor)
        assert chi2_p_value([seen[one] for one in law], [other[one] for one in law]) < FALSE_ALARM
