"""Doors of an evaluation: whatever a person's records look like, they reach that person's contribution and no other.

The total of everybody is the total of all others plus what this person adds alone, bit for bit; and it moves by no more
than what the noise was made for.
"""

import numpy as np
import pyarrow as pa
import pytest

from evaluation_support import N_ITEMS, fit_recommender, made_up, seen_totals
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.evaluation import PrivateEvaluation

ENGINE = LocalEngine(threads=1)
SOME = made_up(30)
OTHERS = "".join(f"u{u},{i},{r:g}\n" for u, i, r in zip(SOME.users, SOME.items, SOME.ratings, strict=True))
PEOPLE = {
    "usual": "ann,1,5\nann,2,1\nann,7,4\nann,9,5\n",
    "everything": "".join(f"ann,{item},5\n" for item in range(N_ITEMS)),
    "one rating": "ann,3,5\n",
    "nothing that counts": "ann,999,5\nann,3,oops\n",
    "out of range": "ann,1,1e308\nann,2,-inf\nann,3,-1e308\nann,4,nan\nann,5,5\n",
    "repeated": "ann,1,5\nann,1,1\nann,1,3\nann,2,5\nann,2,5\nann,8,4\n",
    "line breaks in quotes": '"ann\nu3",1,5\n"ann\nu3",2,1\n"ann\nu3",7,4\n',
    "quotes in quotes": '"a""nn,u3",1,5\n"a""nn,u3",2,1\n"a""nn,u3",4,4\n',
    "other spellings of items": "ann, 07,5\nann,7.0,1\nann,+3,4\nann,4,4\n",
    "an odd id": "=cmd|' /C calc'!A0,1,5\n=cmd|' /C calc'!A0,2,1\n",
}


@pytest.fixture(scope="module")
def model():
    return fit_recommender()


def total_of(text, model, tmp_path, monkeypatch, **terms):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"user,item,rating\n" + text.encode("utf-8", "surrogateescape"))
    with monkeypatch.context() as patch:
        totals = seen_totals(patch)
        PrivateEvaluation(epsilon=1.0, neighbors="add_remove", engine=ENGINE, **terms).fit(path, model)
    [(total, lattice)] = totals
    return total, lattice


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("name", PEOPLE)
def test_one_person_is_one_contribution(model, tmp_path, monkeypatch, name, delta):
    lines = OTHERS.splitlines(keepends=True)
    middle = "".join([*lines[:50], PEOPLE[name], *lines[50:]])
    texts = (middle, OTHERS, PEOPLE[name])
    everybody, others, alone = (total_of(text, model, tmp_path, monkeypatch, delta=delta) for text in texts)
    assert (everybody[0] - others[0]).tolist() == alone[0].tolist()
    change, lattice = alone[0].astype(np.float64), alone[1]
    if delta:
        assert (change**2).sum() <= lattice.squared_bound
    else:
        assert np.abs(change).sum() <= lattice.l1_bound


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_all_people_mixed(model, tmp_path, monkeypatch, seed):
    lines = (OTHERS + PEOPLE["repeated"]).splitlines(keepends=True)
    np.random.default_rng(seed).shuffle(lines)
    mixed = total_of("".join(lines), model, tmp_path, monkeypatch)[0]
    assert mixed.tolist() == total_of(OTHERS + PEOPLE["repeated"], model, tmp_path, monkeypatch)[0].tolist()


def test_a_replaced_person_changes_nobody_else_and_the_model_not_at_all(model, monkeypatch):
    """Under replace, with users as a table names them; the same noise gives a release that differs by the totals."""
    ratings = made_up(30)
    is_first = ratings.users == 0
    changed = np.where(is_first, 6.0 - ratings.ratings, ratings.ratings)
    tables = [
        pa.table({"user": ratings.users, "item": ratings.items, "rating": one}) for one in (ratings.ratings, changed)
    ]
    before = {name: np.copy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    totals = seen_totals(monkeypatch)
    made = [PrivateEvaluation(epsilon=1.0, delta=1e-6, random_state=1).fit(table, model) for table in tables]
    alone = [
        PrivateEvaluation(epsilon=1.0, delta=1e-6).fit(table.filter(pa.array(is_first)), model) for table in tables
    ]
    (here, lattice), (there, _), (own, _), (other, _) = totals
    assert (here - there).tolist() == (own - other).tolist() and np.any(here != there)
    assert ((here - there).astype(float) ** 2).sum() <= 4 * lattice.squared_bound
    release = made[0]._plan(made[0]._check_parameters(), {})
    moved = (made[0].released_ - made[1].released_) * release.rates / lattice.unit
    assert moved == pytest.approx(here - there, abs=1e-3) and len(alone) == 2
    assert all(np.array_equal(getattr(model, name), value) for name, value in before.items())
