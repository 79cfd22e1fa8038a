"""Statements for tests: small models of every class, accounts with charges, and the registry's list of fields."""

from functools import cache

import numpy as np
import pyarrow as pa

import hushrank
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.report.statement_chain import digest

# As published by the registry of deployments: written down here once more, so that a field that is added to the
# product is noticed.
REGISTRY = {
    "approved", "registry_author", "deployment",
    "deployment.short_name", "deployment.data_curator", "deployment.intended_use", "deployment.data_product_type",
    "deployment.data_product_description", "deployment.publication_date", "deployment.additional_information_url",
    "deployment.dp_flavor", "deployment.dp_flavor.name", "deployment.dp_flavor.data_domain",
    "deployment.dp_flavor.unprotected_quantities",
    "deployment.privacy_loss", "deployment.privacy_loss.privacy_unit",
    "deployment.privacy_loss.privacy_unit_description", "deployment.privacy_loss.privacy_parameters",
    "deployment.privacy_loss.privacy_parameters.epsilon", "deployment.privacy_loss.privacy_parameters.delta",
    "deployment.privacy_loss.privacy_parameters.rho", "deployment.privacy_loss.privacy_parameters_description",
    "deployment.model", "deployment.model.model_type", "deployment.model.actors",
    "deployment.model.model_type_description", "deployment.model.release_type",
    "deployment.model.release_type_description", "deployment.model.interactivity",
    "deployment.model.interactivity_description",
    "deployment.additional_dp_information", "deployment.additional_dp_information.post_processing",
    "deployment.additional_dp_information.composition",
    "deployment.implementation", "deployment.implementation.pre_processing_eda_hyperparameter_tuning",
    "deployment.implementation.mechanisms", "deployment.implementation.justification",
}  # fmt: skip
RHO = "deployment.privacy_loss.privacy_parameters.rho"
PARAMETERS = ("deployment", "privacy_loss", "privacy_parameters_description")

N_SECRET = 137
"""Rows of the model whose number of rows is secret."""

_GDP = {"epsilon": 2.0, "delta": 1e-6}
_RATINGS = np.array([[1.0, 2.0, np.nan], [3.0, np.nan, 1.0], [np.nan, 5.0, 4.0]])


def _low_rank():
    return hushrank.PrivateLowRank(1, row_norm=1.0, epsilon=1.0, mechanism="exponential").fit(np.eye(3))


def _completion():
    return hushrank.PrivateCompletion(2, **_GDP, rating_range=(1, 5)).fit(_RATINGS)


def _features():
    facts = pa.table({"item": ["rye", "tea", "jam"], "kind": ["grain", "leaf|drink", "fruit"], "price": [3, 9, 4]})
    terms = {"items": ["rye", "tea", "jam"], "item_features": facts, "new_items": ["jam"], "rating_range": (1, 5)}
    return hushrank.PrivateCompletion(1, **_GDP, **terms).fit(_RATINGS)


def _sketch(**terms):
    shape = hushrank.TurnstileSketch((4, 3), 2, **{**_GDP, **terms})
    return shape.update([0, 1], [2, 1], [1.0, 1.0])


def _promised():
    terms = {"unit": "user", "user_totals": "promised", "kind": "full"}
    return _sketch(**terms).factorize()


def _secret():
    X = np.tile(np.eye(3), (N_SECRET, 1))[:N_SECRET]
    terms = {"row_norm": 1.0, "neighbors": "add_remove", "n_samples": N_SECRET, "n_max": N_SECRET}
    return hushrank.PrivatePCA(2, **_GDP, **terms).fit(X)


def _again():
    sketch = _sketch(kind="full")
    sketch.factorize()
    return sketch.factorize()


_MODELS = {
    "PrivatePCA": lambda: hushrank.PrivatePCA(2, row_norm=1.0, epsilon=1.0, center=[0.5, 0.0, 1.0]).fit(np.eye(3)),
    "PrivateCovariance": lambda: hushrank.PrivateCovariance(row_norm=1.0, **_GDP).fit(np.eye(3)),
    "PrivateLowRank": _low_rank,
    "PrivateCompletion": _completion,
    "PrivateEvaluation": lambda: hushrank.PrivateEvaluation(epsilon=1.0, k=2).fit(_RATINGS, small("PrivateCompletion")),
    "PrivateRepresentation": lambda: hushrank.PrivateRepresentation(2, **_GDP).fit(np.eye(3), np.ones(3), [1, 2, 1]),
    "PrivateTraceRegression": lambda: hushrank.PrivateTraceRegression(
        1, **_GDP, design="rank_one", shape=(1, 2), privacy="label"
    ).fit(np.eye(3), np.ones(3)),
    "Factorization": lambda: _sketch(unit="frobenius").factorize(),
    "secret": _secret,
    "promised": _promised,
    "features": _features,
    "again": _again,
    "count first": lambda: hushrank.PrivateCovariance(
        row_norm=1.0, epsilon=1.0, radius="public", center="private", neighbors="add_remove"
    ).fit(np.eye(3)),
}
SMALL = tuple(_MODELS)
"""Small models by name: of every class, and of what else statements tell apart."""


@cache
def small(name):
    """A small model, made without a seed; each is fitted once."""
    return _MODELS[name]()


def seeded():
    """A model that must not be released."""
    return hushrank.PrivatePCA(1, row_norm=1.0, epsilon=1.0, random_state=3).fit(np.eye(3))


def fill_ledger(path):
    """A ledger with accounts of every currency, and their charges."""
    ledger = hushrank.Ledger(path)
    gdp = ledger.create("patients 2026", epsilon=3, delta=1e-6, neighbors="add_remove", unit="row")
    for _ in range(3):
        gdp.charge(Gaussian(9.0), note="PrivatePCA; annual report")
    gdp.charge(Composed([Gaussian(12.0), Gaussian(20.0)]), key="one more")
    pure = ledger.create("pure", epsilon=2, unit="user")
    pure.charge(Pure(0.1))
    pure.charge(Pure(0.25, bounded_range=True), note="<b>[red]note")
    both = ledger.create("both", epsilon=3, delta=1e-6, pure=1)
    both.charge(Pure(0.25))
    both.charge(Composed([Gaussian(9.0), Pure(0.5)]))
    ledger.create("empty", epsilon=1, delta=1e-9)
    ledger.create("promised", epsilon=1).charge(Pure(0.5), note="TurnstileSketch, provided that users are few")
    return ledger


ACCOUNTS = ("patients 2026", "pure", "both", "empty", "promised")


def every_name(values, before=""):
    """Names of all fields at every level, with dots between them."""
    for name, value in values.items():
        yield f"{before}{name}"
        if isinstance(value, dict):
            yield from every_name(value, f"{before}{name}.")


def changed(fields, path, value):
    """A copy of fields with another value in one place; None takes it out."""
    first, *rest = path
    inside = changed(fields[first], rest, value) if rest else value
    kept = {name: old for name, old in fields.items() if name != first}
    return kept if inside is None else {**kept, first: inside}


def chained(fields):
    """The chained part."""
    for name in PARAMETERS:
        fields = fields[name]
    return fields


def sealed(text):
    """A chained part with a hash that is right, as a forger would make it."""
    body = text.rpartition("\n")[0]
    return f"{body}\nSHA-256 of all lines above: {digest(body)}"


def forged(fields, *replaced):
    """Fields with replacements in their chained part, and its hash made anew."""
    text = chained(fields)
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return changed(fields, PARAMETERS, sealed(text))
