"""Privacy statements for people outside: the fields of the public registry, filled from a guarantee or a ledger.

Made from  a fitted model, or an account of a ledger; nothing else is read, and nothing is charged.
Exact      `privacy_parameters_description` holds the whole record under a hash (`statement_chain`); flavor, unit and
           numbers in the other fields are compared with it when a statement is read.
Honest     what nobody said is marked as not stated. A release with a seed, or without privacy, gets no statement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, leaves, to_dict
from hushrank.privacy.figures import at_most
from hushrank.privacy.guarantee import Budget, Guarantee
from hushrank.privacy.ledger.currency import canonical
from hushrank.privacy.records import to_fields
from hushrank.privacy.words import adjacency_in_words, not_hidden_in_words, premise_in_words, sentences
from hushrank.report import statement_words as words
from hushrank.report.statement_chain import digest, hash_of, read_chained, write_chained
from hushrank.report.statement_fields import Publisher, check_fields, not_stated, said
from hushrank.report.statement_ledger import LedgerRecord, ledger_record
from hushrank.report.statement_record import ModelRecord, model_record, parameters_of, rho_of

SILENT = Publisher()
CENTRAL = "Central"
"""The only model of trust: who holds the data adds the noise."""

_LEDGER = words.Told(
    "releases under one budget",
    "All releases that were charged to the budget of one data set, and those still to come.",
    "The ledger counts what is released; what the data are is not in it.",
    "What the ledger holds: the name of the data set, its budget, and the charges with what stands beside them. What "
    "single releases take for public, such as bounds and catalogues, is not in it.",
    "Whatever is computed from the releases costs nothing.",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that is in order, which `from_fields` makes.

    Attributes
    ----------
    fields : mapping
        By name, with mappings inside; the names are those of the registry.
    record : ModelRecord or LedgerRecord
        What is stated exactly.
    """

    fields: Mapping[str, Any]
    record: ModelRecord | LedgerRecord

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> "Statement":
        """The statement of these fields; ValueError where they are others, or contradict the record or each other."""
        check_fields(fields)
        loss = fields["deployment"]["privacy_loss"]
        record = read_chained(loss["privacy_parameters_description"])
        given = record.promise
        _check_same("dp_flavor.name", fields["deployment"]["dp_flavor"]["name"], flavor_of(given))
        _check_same("privacy_loss.privacy_unit", loss["privacy_unit"], str(given.unit))
        _check_numbers(loss["privacy_parameters"], given)
        _check_same("model.model_type", fields["deployment"]["model"]["model_type"], CENTRAL)
        _check_begins(
            "privacy_loss.privacy_unit_description", loss.get("privacy_unit_description"), describe_unit(given)
        )
        public = fields["deployment"]["dp_flavor"]["unprotected_quantities"]
        _check_begins("dp_flavor.unprotected_quantities", public, words.public_people(given, _told(record)))
        return cls(fields, record)

    @property
    def budget(self) -> Budget:
        """What was asked for; of a ledger, what may be spent."""
        return self.record.budget

    @property
    def event(self) -> Any:
        """What was executed; of a ledger, all that was charged."""
        return self.record.event

    @property
    def guarantee(self) -> Guarantee:
        """What is promised; of a ledger, by its cap."""
        return self.record.promise

    def sentences(self) -> list[str]:
        """What is promised, in words; how a release rounds is not in a ledger."""
        if isinstance(self.record, ModelRecord):
            return [*sentences(self.guarantee)]
        rounding = "How releases round inside the computer is not in a ledger: their own statements say it."
        return [*sentences(self.guarantee, arithmetic=False), rounding]

    @property
    def sha256(self) -> str:
        """Hash of the chained part."""
        return hash_of(self.fields["deployment"]["privacy_loss"]["privacy_parameters_description"])

    @property
    def fields_sha256(self) -> str:
        """Hash of all fields with all that they say, however the file looks; approval is the registry's to give."""
        return digest(canonical({**self.fields, "approved": False}))

    @property
    def head(self) -> str | None:
        """Hash of the last entry of the ledger; None for a model."""
        return self.record.head

    @property
    def not_stated(self) -> list[str]:
        """Names of the fields in which the publisher has not said something."""
        return not_stated(self.fields)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe description: event, budget, what is promised, and hashes."""
        budget = {**to_fields(self.budget), "neighbors": str(self.budget.neighbors), "unit": str(self.budget.unit)}
        found = {"kind": self.record.kind, "event": to_dict(self.event), "budget": budget, "sha256": self.sha256}
        found["fields_sha256"] = self.fields_sha256
        if isinstance(self.record, ModelRecord):
            told = {"release": self.record.release, "file_sha256": self.record.file_sha256}
            return {**found, **told, "guarantee": self.guarantee.to_dict()}
        charges = len(self.record.rows) - 1
        return {**found, "dataset": self.record.dataset, "charges": charges, "head": self.head}


def model_statement(model: Any, publisher: Publisher = SILENT, *, file_sha256: str = "") -> Statement:
    """The statement of a fitted model, as any command has written it with --out; nothing is charged.

    Parameters
    ----------
    model : fitted estimator or Factorization
    publisher : Publisher
        What only the publisher knows.
    file_sha256 : str
        Hash of the model file that is published, so that readers can tell which one it is about.

    Raises
    ------
    StatementError
        If the model was made with a seed, or is not private: it must not be released.

    Examples
    --------
    >>> import numpy as np, hushrank as hr
    >>> pca = hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0, delta=1e-6).fit(np.eye(3))
    >>> statement = model_statement(pca, Publisher(name="Components", date="2026-11-18"))
    >>> statement.event == pca.privacy_.event, statement.fields["deployment"]["dp_flavor"]["name"]
    (True, 'Approximate DP')
    """
    release = type(model).__name__
    if release not in words.TOLD or not hasattr(model, "_learned"):
        known = ", ".join(words.TOLD)
        raise InvalidParameter("model_statement", "model", f"a fitted model of a class in {known}", type(model))
    model._learned()  # or NotFitted
    told, record = words.TOLD[release], model_record(model, file_sha256)
    is_continual = getattr(model, "release_", 1) > 1
    texts = {
        "public": words.unprotected(record.promise, told, words.say_parameters(model)),
        "release_type": "Continual" if is_continual else "One-shot",
        "releases": "One of several releases of one sketch." if is_continual else "The product is published once.",
        "composition": words.composition(model, told),
        "mechanisms": words.mechanisms(model),
    }
    return _fill(record, told, texts, publisher)


def ledger_statement(account: Any, publisher: Publisher = SILENT, *, with_notes: bool = True) -> Statement:
    """The statement of a data set of a ledger: its budget, what was spent, and every charge.

    Parameters
    ----------
    account : Account
        As ``Ledger("budget.db")["patients"]``; its whole history is verified, and nothing is charged.
    publisher : Publisher
    with_notes : bool
        Whether keys, notes and times of the charges are stated. Without them the hashes of the ledger can be compared
        with the ledger, and not be computed again from the statement alone.
    """
    return statement_of_record(ledger_record(account, with_notes=with_notes), publisher)


def statement_of_record(record: LedgerRecord, publisher: Publisher = SILENT) -> Statement:
    """The statement that hushrank makes of the record of a ledger."""
    n = len(record.rows) - 1
    texts = {
        "public": words.unprotected(record.promise, _LEDGER, "The parameters of each release are public as well."),
        "release_type": "Continual" if n > 1 else "One-shot",
        "releases": "What is left of the budget may be spent later, and is within the promise.",
        "composition": _ledger_composition(record),
        "mechanisms": _ledger_mechanisms(record),
    }
    return _fill(record, _LEDGER, texts, publisher)


def flavor_of(given: Guarantee) -> str:
    """What the registry calls this kind of guarantee."""
    return "Approximate DP" if given.delta else "Pure DP"


def describe_unit(given: Guarantee) -> str:
    """What adjacent data sets are, what hiding one unit does not hide, and what is taken for granted."""
    parts = [
        adjacency_in_words(given.neighbors, given.unit, given.bound),
        not_hidden_in_words(given.unit, given.bound),
        premise_in_words(given),
    ]
    return " ".join(part for part in parts if part)


def _told(record: ModelRecord | LedgerRecord) -> words.Told:
    """What is said about all releases of this kind; of a class of somebody else's making what is said of any."""
    return words.TOLD.get(record.release, _LEDGER) if isinstance(record, ModelRecord) else _LEDGER


def _fill(record: Any, told: words.Told, texts: Mapping[str, str], publisher: Publisher) -> Statement:
    """All fields of the registry, in its order."""
    given = record.promise
    deployment = {
        "short_name": said(publisher.name),
        "data_curator": said(publisher.curator),
        "intended_use": said(publisher.use),
        "data_product_type": publisher.product_type or told.kind,
        "data_product_description": publisher.product or told.product,
        "publication_date": said(publisher.date),
        "additional_information_url": said(publisher.url),
        "dp_flavor": {
            "name": flavor_of(given),
            "data_domain": f"{told.domain} Whose data they are: {said(publisher.population)}",
            "unprotected_quantities": texts["public"],
        },
        "privacy_loss": {
            "privacy_unit": str(given.unit),
            "privacy_unit_description": describe_unit(given),
            "privacy_parameters": parameters_of(given),
            "privacy_parameters_description": write_chained(record),
        },
        "model": {
            "model_type": CENTRAL,
            "actors": f"{words.CENTRAL} Who they are: {said(publisher.actors)}",
            "model_type_description": "The data are in one place, or on machines of one holder, when noise is added.",
            "release_type": texts["release_type"],
            "release_type_description": texts["releases"],
            "interactivity": "Non-interactive",
            "interactivity_description": "Nobody but the holder of the data asks hushrank for releases.",
        },
        "additional_dp_information": {"post_processing": told.post, "composition": texts["composition"]},
        "implementation": {
            "pre_processing_eda_hyperparameter_tuning": f"{words.preparation(given)}: {said(publisher.preparation)}",
            "mechanisms": texts["mechanisms"],
            "justification": said(publisher.justification),
        },
    }
    fields = {"approved": False, "registry_author": said(publisher.author), "deployment": deployment}
    return Statement.from_fields(fields)


def _ledger_composition(record: LedgerRecord) -> str:
    if record.budget.is_pure:
        how = "The epsilons of all releases add up, as exact fractions, to at most that of the budget."
    else:
        how = (
            "The mu^2 of all releases add up, as exact fractions, to at most what the budget is worth: a filter for "
            "Gaussian differential privacy."
        )
    reserved = " A part of epsilon is reserved for pure releases, whose epsilons add up." if record.terms.pure else ""
    chosen = "Each release may be chosen from those before. It is charged before its noise is drawn, and refused where"
    other = "Releases that were not charged, or were charged to another ledger, are not in it."
    return f"{how}{reserved} {chosen} the budget does not last. {other}"


def _ledger_mechanisms(record: LedgerRecord) -> str:
    counts = leaves(record.event)
    n_gaussian = sum(n for leaf, n in counts.items() if isinstance(leaf, Gaussian))
    n_pure = sum(counts.values()) - n_gaussian
    kinds = ((n_gaussian, "Gaussian"), (n_pure, "pure"))
    counted = [f"{n:,} {kind} release{'s' * (n != 1)}" for n, kind in kinds if n]
    charged = f"Charged: {' and '.join(counted)}." if counted else "Nothing was charged yet."
    return f"{charged} How their noise was drawn is not in the ledger: statements of the single releases say it."


def _check_same(name: str, found: Any, expected: str) -> None:
    if found != expected:
        raise ValueError(f"its {name} contradicts its record, which says {expected!r}")


def _check_begins(name: str, found: str | None, expected: str) -> None:
    """What follows from the record comes first; a publisher may add to it."""
    if found and found.strip() and not " ".join(found.split()).startswith(" ".join(expected.split())):
        raise ValueError(f"its {name} contradicts its record, from which follows {expected!r}: add to it behind that")


def _check_numbers(found: Mapping[str, float], given: Guarantee) -> None:
    rho = rho_of(given.event)
    exact = {"epsilon": given.epsilon, "delta": given.delta, **({} if rho is None else {"rho": rho})}
    for name, value in found.items():
        if name not in exact or value not in (exact[name], float(at_most(exact[name]))):
            said_by_it = f", which says {at_most(exact[name])}" if name in exact else ""
            raise ValueError(f"its privacy_parameters.{name} contradicts its record{said_by_it}")
