"""The fields of a privacy statement: those of the public registry of differential-privacy deployments, and no others.

Names      of the schema of that registry, at every level: it allows no further ones.
Publisher  what only the publisher knows is asked for; where nobody says it, the field says that nobody did.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from hushrank.exceptions import InvalidParameter

TEXT, FLAG, NUMBER, DATE, ADDRESS = "text", "flag", "number", "date", "address"

FIELDS: dict[str, Any] = {
    "approved": FLAG,
    "registry_author": TEXT,
    "deployment": {
        "short_name": TEXT,
        "data_curator": TEXT,
        "intended_use": TEXT,
        "data_product_type": TEXT,
        "data_product_description": TEXT,
        "publication_date": DATE,
        "additional_information_url": ADDRESS,
        "dp_flavor": {
            "name": ("Pure DP", "Approximate DP", "Zero Concentrated DP", "other"),
            "data_domain": TEXT,
            "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT,
            "privacy_unit_description": TEXT,
            "privacy_parameters": {"epsilon": NUMBER, "delta": NUMBER, "rho": NUMBER},
            "privacy_parameters_description": TEXT,
        },
        "model": {
            "model_type": ("Local", "Central", "Shuffle", "Federated"),
            "actors": TEXT,
            "model_type_description": TEXT,
            "release_type": ("One-shot", "Continual"),
            "release_type_description": TEXT,
            "interactivity": ("Interactive", "Non-interactive"),
            "interactivity_description": TEXT,
        },
        "additional_dp_information": {"post_processing": TEXT, "composition": TEXT},
        "implementation": {
            "pre_processing_eda_hyperparameter_tuning": TEXT,
            "mechanisms": TEXT,
            "justification": TEXT,
        },
    },
}
"""Every field: a dict of those inside it, the choices that there are, or its kind."""

OPTIONAL = {
    "additional_information_url", "rho", "privacy_unit_description", "actors", "model_type_description",
    "release_type_description", "interactivity_description",
}  # fmt: skip
"""Fields that may be missing: the registry does not ask for them, and nothing is checked against them."""

NOT_STATED = "not stated by the publisher"

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ADDRESS = re.compile(r"https?://[!-~]+")
_NAME = re.compile(r"[a-z_.]{1,80}")
_LONGEST = 5000  # characters


@dataclass(frozen=True, slots=True)
class Publisher:
    """What only the publisher knows; all of it may be left out, and nothing of it is made up.

    Parameters
    ----------
    name : str
        Of what is published.
    curator : str
        Who publishes it.
    use : str
        What it is meant for.
    product_type, product : str
        What it is, in a few words and in a sentence; by default what hushrank knows of it.
    date : str
        Of publication, YYYY-MM-DD.
    url : str
        Where there is more about it.
    author : str
        Who made the statement.
    population : str
        Whose data they are.
    actors : str
        Who takes part, and who sees what.
    preparation : str
        What was done to the data, or learned from them, before hushrank saw them; how parameters were chosen.
    justification : str
        Why these choices.
    """

    name: str = ""
    curator: str = ""
    use: str = ""
    product_type: str = ""
    product: str = ""
    date: str = ""
    url: str = ""
    author: str = ""
    population: str = ""
    actors: str = ""
    preparation: str = ""
    justification: str = ""

    def __post_init__(self) -> None:
        for line in fields(self):
            _check_words(getattr(self, line.name), line.name)
        if self.date and not is_date(self.date):
            raise InvalidParameter("Publisher", "date", "a day as YYYY-MM-DD", self.date)
        if self.url and not _ADDRESS.fullmatch(self.url):
            raise InvalidParameter("Publisher", "url", "an address that begins with https:// or http://", self.url)


def _check_words(value: Any, name: str) -> None:
    is_text = isinstance(value, str) and len(value) <= _LONGEST and value == value.strip()
    if not is_text or not all(line.isprintable() for line in value.split("\n")):
        requirement = f"a printable text of at most {_LONGEST} characters, without spaces around it"
        raise InvalidParameter("Publisher", name, requirement, value)


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, as YYYY-MM-DD."""
    try:
        return bool(_DATE.fullmatch(text)) and bool(datetime.date.fromisoformat(text))
    except ValueError:
        return False


def said(text: str) -> str:
    """What the publisher says, or that the publisher does not say it."""
    return text or NOT_STATED


def walk(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """All fields that hold no further ones, by their names with dots between them."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from walk(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def not_stated(values: Mapping[str, Any]) -> list[str]:
    """Names of the fields in which something is not stated by the publisher, or that are empty."""
    texts = ((name, value) for name, value in walk(values) if isinstance(value, str))
    return [name for name, text in texts if NOT_STATED in text or not text.strip()]


def check_fields(values: Mapping[str, Any]) -> None:
    """Raise ValueError unless the fields are those of the registry, each of its kind."""
    _check_level(values, FIELDS, "")


def say_name(name: Any) -> str:
    """A name as errors show it: only what looks like the name of a field, because any file may be taken for one."""
    return repr(name) if isinstance(name, str) and _NAME.fullmatch(name) else "what stands there"


def _check_level(values: Any, table: Mapping[str, Any], before: str) -> None:
    if not isinstance(values, Mapping):
        raise ValueError(f"field {before.rstrip('.') or 'statement'!r} must have fields inside it")
    unknown = [name for name in values if name not in table]
    missing = [name for name in table if name not in values and name not in OPTIONAL]
    if unknown:
        raise ValueError(f"{say_name(f'{before}{unknown[0]}')} is no field of the registry")
    if missing:
        raise ValueError(f"the field {before}{missing[0]} is missing")
    for name, value in values.items():
        kind, full = table[name], f"{before}{name}"
        if isinstance(kind, Mapping):
            _check_level(value, kind, f"{full}.")
        elif isinstance(kind, tuple):
            _check_that(value in kind, full, f"one of {', '.join(kind)}")
        elif kind == FLAG:
            _check_that(isinstance(value, bool), full, "true or false")
        elif kind == NUMBER:
            _check_that(isinstance(value, float), full, "a number")
        else:
            _check_that(isinstance(value, str), full, "a text")
            is_empty = not value or value == NOT_STATED
            _check_that(kind != DATE or is_empty or is_date(value), full, "a day as YYYY-MM-DD")
            is_right = kind != ADDRESS or is_empty or bool(_ADDRESS.fullmatch(value))
            _check_that(is_right, full, "an address that begins with https:// or http://")


def _check_that(is_right: bool, name: str, requirement: str) -> None:
    if not is_right:
        raise ValueError(f"the field {name} must be {requirement}")
