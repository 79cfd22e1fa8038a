"""What every release does: plan, charge, execute as planned, save and load; the conformance suite holds all to it."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from hushrank.archive.container import read_archive, write_archive
from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError, ModelFileError, NotFitted, PlanBroken
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.noise.source import NoiseSource

X = np.random.default_rng(0).standard_normal((30, 4))


def pca(**parameters):
    return PrivatePCA(2, **{"row_norm": 1.0, "epsilon": 1.0, **parameters})


def public_pca(**parameters):
    """Its releases are all planned; those of a private radius are shares of one event."""
    return pca(radius="public", **parameters)


class Recorder:
    """Stands in for engine, ledger account and mechanism, and notes who was called."""

    def __init__(self):
        self.calls = []

    def charge(self, event, key=None, neighbors=None, unit=None, note=""):
        self.calls.append(("charge", event, key, str(neighbors), str(unit), note))

    def total(self, *arguments, **options):
        self.calls.append("total")
        self.options = options
        return LocalEngine(1).total(*arguments, **options)


def test_a_model_whose_parameters_were_changed_is_not_saved(tmp_path):
    model = PrivatePCA(1, row_norm=1.0, epsilon=1.0, mechanism="exponential").fit(np.eye(3))
    model.set_params(mechanism="auto")
    with pytest.raises(ModelFileError, match="parameters of this PrivatePCA were changed after its fit: set them back"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    model.set_params(mechanism="exponential").save(tmp_path / "model")


def test_an_estimator_that_leaves_its_plan_releases_nothing():
    class Careless(PrivatePCA):
        def _fit(self, source, releases, noise, total):
            super()._fit(source, releases, noise, total)
            return super()._fit(source, releases, noise, total)

    class Greedy(PrivatePCA):
        def _fit(self, source, releases, noise, total):
            twice = PrivatePCA(2, row_norm=1.0, epsilon=2.0, radius=self.radius)
            return super()._fit(source, twice._plan(twice._check_parameters(), source.sizes), noise, total)

    class Talkative(PrivatePCA):
        def _fit(self, source, releases, noise, total):
            return {**super()._fit(source, releases, noise, total), "more": 1}

    for broken, message in (
        (Careless, "Careless planned .* and executed"),
        (Greedy, "Greedy planned .* and executed"),
        (Talkative, "Talkative learns .* and returned"),
    ):
        for radius in ("private", "public"):
            model = broken(2, row_norm=1.0, epsilon=1.0, radius=radius)
            with pytest.raises(PlanBroken, match=message):
                model.fit(X)
            assert not hasattr(model, "components_")


def test_a_release_is_charged_before_its_noise_is_drawn_and_must_be_the_planned_one():
    recorder, events = Recorder(), (Pure(0.25), Pure(0.5))

    def work(noise):
        recorder.calls.append("work")
        for event in events:
            noise.begin(event, "replace")
        return "what was learned"

    result, noise = public_pca(ledger=recorder)._charge_and_run(Budget(1.0), events, work)
    assert result == "what was learned" and noise.executed == events and not noise.reproducible
    charge, done = recorder.calls
    assert charge[:2] == ("charge", Composed(events)) and charge[3:] == ("replace", "row", "PrivatePCA")
    assert done == "work"
    for planned in (events[:1], events[::-1], (Pure(0.75),), (*events, Pure(0.1))):
        with pytest.raises(PlanBroken, match=r"PrivatePCA planned .* and executed .*; nothing was kept"):
            public_pca()._charge_and_run(Budget(1.0), planned, work)
    keys = [call[2] for call in recorder.calls if call[0] == "charge"]
    public_pca(ledger=recorder)._charge_and_run(Budget(1.0), events, work)
    assert recorder.calls[-2][2] not in keys  # every release has a key of its own


def test_an_adaptive_release_is_charged_as_a_whole_and_spends_no_more():
    recorder, events = Recorder(), (Pure(0.25), Pure(0.5))

    def work(noise):
        for event in events:
            noise.begin(event, "replace")
        return len(recorder.calls)

    result, noise = pca(ledger=recorder)._charge_and_run(Budget(1.0), (Pure(0.75),), work)
    assert result == 1 and noise.executed == events and recorder.calls[0][1] == Pure(0.75)
    for planned in (Pure(0.7), Pure(0.25)):
        with pytest.raises(PlanBroken, match=r"PrivatePCA planned .* and executed .*; nothing was kept"):
            pca()._charge_and_run(Budget(1.0), (planned,), work)


def test_a_release_that_was_not_paid_for_draws_no_noise(tmp_path):
    drawn = []
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("data", epsilon=0.1, neighbors="replace", unit="row")
        with pytest.raises(BudgetExceeded):
            pca(ledger=ledger["data"])._charge_and_run(Budget(1.0), (Pure(1.0),), drawn.append)
    assert drawn == []


def test_noise_may_come_from_another_source_than_that_of_the_seed():
    """As the noise that a state starts with, which must not be that of its first release."""

    def words(noise):
        return noise.begin(Gaussian(1.0), "replace").words(4).tolist()

    def run(*source):
        return public_pca(random_state=1)._charge_and_run(Budget(1.0, 1e-6), (Gaussian(1.0),), words, *source)

    other = NoiseSource(2)
    own, given = run(), run(other)
    assert given[1] is other and given[0] == words(NoiseSource(2)) and own[0] == words(NoiseSource(1)) != given[0]
    with pytest.raises(PlanBroken):  # a source that was used for something else
        run(other)


def test_an_adaptive_fit_with_a_plan_that_no_filter_can_keep_is_refused_before_the_charge():
    class Chooses(PrivatePCA):
        _is_adaptive = True

    recorder = Recorder()
    terms = {"row_norm": 1.0, "epsilon": 1.0, "radius": "public", "ledger": recorder, "engine": recorder}
    model = Chooses(2, **terms, center="private")  # two pure ones
    with pytest.raises(InvalidParameter, match="made of Gaussian releases, or one Pure"):
        model.fit(X)
    assert recorder.calls == []
    Chooses(2, **terms).fit(X)
    assert len(recorder.calls) == 2


def test_what_ends_a_fit_after_the_charge_says_what_was_spent(tmp_path, monkeypatch):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=2.5, neighbors="replace", unit="row")
        monkeypatch.setattr(PrivatePCA, "_fit", lambda *_: {})
        with pytest.raises(PlanBroken, match=r"learns .* and returned .*nothing was kept") as broken:
            pca(ledger=account).fit(X)
        left = "at most epsilon = 1.5 for one more release, one more fit like the last"
        assert broken.value.__notes__ == [f"budget was spent: epsilon = 1 of 'data'; left: {left}"]
        with pytest.raises(PlanBroken) as broken:
            pca().fit(X)
        assert not hasattr(broken.value, "__notes__")


def test_an_overdrawn_account_says_what_is_left(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("data", epsilon=1.5, neighbors="replace", unit="row")
        model = pca(ledger=ledger["data"]).fit(X)
        with pytest.raises(
            BudgetExceeded, match=r"asked for epsilon = 1 of 'data', left at most epsilon = 0\.5 for one"
        ):
            model.fit(X)


def test_a_missing_ledger_or_data_set_is_refused(tmp_path):
    for make in (lambda: Ledger(tmp_path / "none.db")["data"], lambda: Ledger(tmp_path)["data"]):
        with pytest.raises(LedgerError):
            pca(ledger=make()).fit(X)
    with pytest.raises(InvalidParameter, match=r"ledger of PrivatePCA must be an account of a ledger, as Ledger"):
        pca(ledger="budget.db").fit(X)


def test_classes_are_no_instances():
    for name, value in (("engine", LocalEngine), ("ledger", type(Recorder()))):
        with pytest.raises(InvalidParameter, match=f"^{name} of PrivatePCA must be"):
            pca(**{name: value}).fit(X)


def test_numbers_of_any_kind_work_and_are_saved(tmp_path):
    kinds = {"row_norm": Fraction(1, 2), "epsilon": np.float32(0.5), "n_max": np.int16(100), "verbose": np.int8(0)}
    for center in (pd.Series([0.0] * 4), [np.float32(0)] * 4, np.zeros(4, int), (0, 0, 0, 0)):
        model = pca(**kinds, center=center, random_state=1).fit(X)
        model.save(tmp_path / "model")
        loaded = PrivatePCA.load(tmp_path / "model")
        assert (loaded.row_norm, loaded.epsilon, loaded.n_max, loaded.center) == (0.5, 0.5, 100, [0.0] * 4)
        assert np.array_equal(loaded.components_, model.components_)


def test_plans_take_sizes_by_name_or_as_a_shape():
    by_name = pca().plan(n_samples=30, n_features=4)
    assert (
        by_name == pca().plan((30, 4)) == pca().plan(shape=(30, 4))
        and by_name.forecast != pca().plan((300, 4)).forecast
    )
    for sizes in ({"n_samples": 30}, {"n_samples": 30, "n_features": 4, "n_users": 3}, {"n_samples": 1.5}):
        with pytest.raises(InvalidParameter, match=r"(n_features|n_users|n_samples) of PrivatePCA must be"):
            pca().plan(**sizes)
    with pytest.raises(InvalidParameter, match=r"shape of PrivatePCA must be a tuple \(n_samples, n_features\)"):
        pca().plan((30, 4), n_samples=30)


@pytest.mark.parametrize("shape", [None, 4, (4,), (0, 4), (4, 0), (4.5, 2), [4, 2]])
def test_plans_need_a_shape(shape):
    with pytest.raises(InvalidParameter, match=r"(shape|n_samples|n_features) of PrivatePCA must be"):
        pca().plan(shape)


def test_models_are_saved_only_after_a_fit(tmp_path):
    with pytest.raises(NotFitted):
        pca().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def edit(path, **fields):
    content, arrays = read_archive(path)
    write_archive(path, {**content, **fields}, arrays)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"class": "PrivateCovariance"}, "holds a 'PrivateCovariance', not a PrivatePCA"),
        ({"parameters": {"n_components": 2}}, "does not fit this version of PrivatePCA"),
        (
            {"parameters": {"n_components": 2, "row_norm": -1.0, "epsilon": 1.0, "radius": "private"}},
            "row_norm of PrivatePCA must be",
        ),
        # A file that names no radius is of a version that knew a public one only.
        (
            {"parameters": {"n_components": 2, "row_norm": 1.0, "epsilon": 1.0}},
            "does not have the attributes of a Priv",
        ),
        ({"guarantee": {}}, "does not fit this version of PrivatePCA"),
        ({"attributes": {"fit": 1}}, "does not have the attributes of a PrivatePCA"),
        ({"attributes": {"n_": 3}}, "does not have the attributes of a PrivatePCA"),
        (
            {"attributes": {"n_": 3, "n_features_in_": 4, "__class__": 1}},
            "does not have the attributes of a PrivatePCA",
        ),
        ({"attributes": [1]}, "does not fit this version of PrivatePCA"),
        ({"parameters": [1]}, "does not fit this version of PrivatePCA"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, fields, message):
    path = tmp_path / "model"
    pca().fit(X).save(path)
    edit(path, **fields)
    with pytest.raises(ModelFileError, match=message):
        PrivatePCA.load(path)


def test_a_loaded_model_remembers_that_it_must_not_be_released(tmp_path):
    pca(random_state=1).fit(X).save(tmp_path / "model")
    loaded = PrivatePCA.load(tmp_path / "model")
    assert loaded.random_state is None and loaded.privacy_.reproducible
    assert "MUST NOT BE RELEASED" in repr(loaded)
