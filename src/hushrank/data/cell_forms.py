"""Why cells are no numbers: told by their form, such as a comma, a percent sign or a date, and never by showing one.

NOT PRIVATE: for the data holder's own check.
Cells come as Arrow columns: texts of a CSV file as large_binary, which are numbers where they write one, and columns
of other tables with types of their own, see `typed_column`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushrank.data.findings import MOST_NAMES, Finding, share
from hushrank.data.frames import to_block
from hushrank.data.id_arrays import id_kind, to_ids
from hushrank.data.text_values import to_numbers

SAMPLE = 20_000  # first records that are looked at,
_MOST_CELLS = 2**22  # unless there are very many columns
MOST_COLUMNS = 100  # whose cells the check of a fit looks at
_LOOKED_AT = 2_000  # cells of a column that are no numbers, whose forms are told: more tell nothing new
MANY = 0.1  # share of the records of a column, from which on a finding may be a problem
_NOTABLE = 0.05  # share of them, from which on a second form is told
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write cells.

    Attributes
    ----------
    words, cure : str
        What cells of this form are, and what to do about them, with a place for the option that chooses columns.
    pattern : str
        What such a cell looks like; of the forms that fit, the first counts.
    is_number : bool
        Whether the cells are numbers in another writing, so that the column should be rewritten and not left out.
    """

    words: str
    cure: str
    pattern: str = ""
    is_number: bool = False


_ANY = r"[+-]?\s?\d[\d.,'\x{2019} \x{a0}\x{202f}]*"
_MONEY = (
    r"(?:[$€£¥₹₽₩₺]|(?i:us\$|usd|eur|euros?|gbp|chf|jpy|cny|inr|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|brl|mxn|rub|"
    r"try|krw|kr\.?|rs\.?|dollars?))"
)
_MONTH = r"(?i:jan|feb|mar|mär|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])\pL*\.?"
_LEAVE_OUT = "leave {them} out ({choose})"

FORMS: Mapping[str, Form] = {
    "missing": Form(
        "nothing, or a word for missing (NA, null, -)",
        "such a record counts as nothing; fill it by a rule that is publicly known, or leave the column out ({choose})",
        r"(?i:|na|n/a|n\.a\.?|#n/a|#value!|#div/0!|nan|null|none|nil|missing|unknown|not available|no data|"
        r"k\.\s?a\.|[-\x{2013}\x{2014}?.*]+)",
    ),
    "infinite": Form(
        "infinite numbers, or larger ones than a float64 holds", "such a record counts as nothing; mend these cells"
    ),
    "truth": Form(
        "yes and no, or true and false",
        'write 1 and 0, such as pandas column.map({{"yes": 1, "no": 0}})',
        r"(?i:true|false|yes|no|y|n|t|f|on|off|ja|nein|oui|non|s[ií]|wahr|falsch)",
        is_number=True,
    ),
    "date": Form(
        "dates or times",
        _LEAVE_OUT + ", or count days or years",
        r"\d{4}-\d{1,2}(?:-\d{1,2})?(?:[T ].*)?|\d{4}[- ]?[QqWw]\d{1,2}|"
        r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AaPp]\.?[Mm]\.?)?|"
        r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ T,].*)?|"
        rf"(?:\pL{{2,9}},? )?\d{{1,2}}\.?[ -]{_MONTH}[ -]\d{{2,4}}(?:[ ,].*)?|"
        rf"(?:\pL{{2,9}},? )?{_MONTH}[ -]\d{{1,4}}(?:,? \d{{4}})?(?:[ ,].*)?",
    ),
    "percent": Form(
        "numbers with a percent sign",
        'take the sign away, such as pandas column.str.rstrip("% ").astype(float)',
        rf"{_ANY}\s?[%‰]|%\s?{_ANY}",
        is_number=True,
    ),
    "currency": Form(
        "numbers with the sign or code of a currency",
        'take it away, such as pandas column.str.replace("[^0-9.,-]", "", regex=True)',
        rf"[+-]?\s?{_MONEY}\s?{_ANY}|{_ANY}\s?{_MONEY}",
        is_number=True,
    ),
    "thousands_commas": Form(
        "numbers with commas between thousands, as in 2,345.67",
        'take the commas away, such as pandas column.str.replace(",", "").astype(float)',
        r"[+-]?(?:\d{1,3}(?:,\d{2,3})*,\d{3}\.\d*|\d{1,3}(?:,\d{2,3})+,\d{3})",
        is_number=True,
    ),
    "one_comma": Form(
        "numbers with a comma before three digits, as in 2,345",
        'take the comma away where it parts thousands, such as pandas column.str.replace(",", "").astype(float), or '
        "write a point for it where it parts decimals",
        r"[+-]?[1-9]\d{0,2},\d{3}",
        is_number=True,
    ),
    "decimal_comma": Form(
        "numbers with a decimal comma, as in 1234,56",
        'write a point, such as pandas column.str.replace(",", ".").astype(float)',
        r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?",
        is_number=True,
    ),
    "thousands_points": Form(
        "numbers with points between thousands, as in 1.234.567,89",
        'take them away from the whole column (1.234 is read as 1.2), such as pandas column.str.replace(".", "")'
        '.str.replace(",", ".").astype(float)',
        r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})",
        is_number=True,
    ),
    "thousands_spaces": Form(
        "numbers with spaces or apostrophes between thousands, as in 2 345",
        r"""take them away, such as pandas column.str.replace(r"[\s']", "", regex=True).astype(float)""",
        r"[+-]?\d{1,3}(?:[ \x{a0}\x{202f}\x{2009}'\x{2019}_]\d{3})+(?:[.,]\d+)?",
        is_number=True,
    ),
    "unit": Form(
        "numbers with a unit or a sign beside them, as in 5 kg or <5",
        "write the number alone",
        rf"(?:[<>≤≥~≈]=?|[\x{{2212}}\x{{2013}}])\s?{_ANY}|{_ANY}\s?[\pL°µ²³/]{{1,8}}|\({_ANY}\)|{_ANY}[+-]",
        is_number=True,
    ),
    "numbers_as_text": Form(
        "numbers that are stored as text", "store numbers, such as pandas column.astype(float)", is_number=True
    ),
    "decimal": Form(
        "numbers of a decimal type", "store them as floats, such as pandas column.astype(float)", is_number=True
    ),
    "text": Form("text", _LEAVE_OUT),
    "other_type": Form("values of a type that holds no numbers", _LEAVE_OUT),
}
"""Forms by name, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class ColumnForms:
    """How many cells of a column are numbers, and how many of the others have which form, about."""

    n_numbers: int
    counts: Mapping[str, int]

    @property
    def causes(self) -> list[str]:
        """Forms that should be told: all notable ones, but of a column without numbers in any writing its main one."""
        known = {name: count for name, count in self.counts.items() if name != "missing"} or dict(self.counts)
        if not known:
            return []
        main = max(known, key=lambda name: known[name])
        if not self.n_numbers and not FORMS[main].is_number:
            return [main]
        return [name for name, count in self.counts.items() if count >= _NOTABLE * sum(self.counts.values())]


def sample_records(n_columns: int) -> int:
    """How many of the first records are looked at."""
    return min(SAMPLE, max(_MOST_CELLS // max(n_columns, 1), 1))


def typed_column(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column of a table as one array: texts of every kind as large_string, and bytes as binary, for they are none."""
    if id_kind(column.type) == "str":
        return to_ids(column)
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    whole = whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole
    return whole.cast(pa.binary()) if pa.types.is_large_binary(whole.type) else whole


def numbers_of(column: pa.Array) -> NDArray[np.float64]:
    """What a fit reads: NaN where a cell is no number, and where the type of a column holds none."""
    if pa.types.is_large_binary(column.type):
        return to_numbers(column)
    if any(accepts(column.type) for accepts in _NUMBERS):
        return np.asarray(to_block([column], len(column))[:, 0], np.float64)
    return np.full(len(column), np.nan)


def count_forms(column: pa.Array) -> ColumnForms:
    """Forms of the cells that are no finite numbers.

    Examples
    --------
    >>> found = count_forms(pa.array([b"7", b"1234,5", b"-0,5", b"n/a"], pa.large_binary()))
    >>> found.n_numbers, dict(found.counts)
    (1, {'missing': 1, 'decimal_comma': 2})
    """
    numbers = numbers_of(column)
    odd = ~np.isfinite(numbers)
    n_numbers = len(column) - int(odd.sum())
    if pa.types.is_large_binary(column.type):  # no fault of this column: the record cannot be read
        odd &= np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
    places = np.flatnonzero(odd)[:_LOOKED_AT]
    if not len(places):
        return ColumnForms(n_numbers, {})
    seen = _count_texts(column.take(pa.array(places))) if is_text(column) else _count_types(column, numbers)
    scale = int(odd.sum()) / max(sum(seen.values()), 1)
    return ColumnForms(n_numbers, {name: round(scale * n) for name, n in seen.items() if n})


def is_text(column: pa.Array) -> bool:
    """Whether a column holds texts, of a CSV file or of another table."""
    return bool(pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type))


def _count_types(column: pa.Array, numbers: NDArray[np.float64]) -> dict[str, int]:
    """Cells of a column that is no text, by its type."""
    kind = column.type
    if any(accepts(kind) for accepts in _NUMBERS):
        return {"missing": int(np.isnan(numbers).sum()), "infinite": int(np.isinf(numbers).sum())}
    form = "decimal" if pa.types.is_decimal(kind) else "date" if pa.types.is_temporal(kind) else "other_type"
    return {"missing": int(column.null_count), form: len(column) - int(column.null_count)}


def _count_texts(texts: pa.Array) -> dict[str, int]:
    """Texts by form; a null is missing."""
    left = pc.ascii_trim_whitespace(texts.drop_null().view(pa.large_string()))
    numbers = to_numbers(left.view(pa.large_binary()))
    is_number = np.isfinite(numbers)  # in a CSV file it would not be here
    counts = {"missing": int(texts.null_count), "infinite": int(np.isinf(numbers).sum())}
    counts["numbers_as_text"], left = int(is_number.sum()), left.filter(pa.array(np.isnan(numbers)))
    for name, form in FORMS.items():
        if form.pattern:
            fits = pc.match_substring_regex(left, f"^(?:{form.pattern})$")
            counts[name] = counts.get(name, 0) + int(pc.sum(fits).as_py() or 0)
            left = left.filter(pc.invert(fits))
    counts["text"] = len(left)
    return _agree_on_commas(counts)


def _agree_on_commas(counts: dict[str, int]) -> dict[str, int]:
    """One meaning for the commas of a column: 2,345 is what its other cells say, and 9,50 beside 1.234,56 its like."""
    meaning = next((name for name in ("thousands_points", "thousands_commas", "decimal_comma") if counts[name]), "")
    joined = {"thousands_points": ("one_comma", "decimal_comma")}.get(meaning, ("one_comma",)) if meaning else ()
    for name in joined:
        counts[meaning] += counts.pop(name)
    return counts


def find_forms(columns: Mapping[str, pa.Array], choose: str, worst: str = "warning") -> list[Finding]:
    """One finding for each form of cells that are no numbers, with the columns that have it; rewritable ones first.

    Parameters
    ----------
    columns : dict of str to Arrow array
        The cells of the first records, of equal number.
    choose : str
        How columns are left out.
    worst : str
        Level of a finding about many records of a column.

    Examples
    --------
    >>> [finding] = find_forms({"rate": pa.array([b"7 %", b"9 %"], pa.large_binary())}, "--columns")
    >>> finding.numbers["cause"], finding.text.split(":")[0]
    ('percent', "column 'rate' holds numbers with a percent sign, in 100 % of the first 2 records")
    """
    found: dict[str, dict[str, float]] = {name: {} for name in FORMS}
    n_records = 0
    for name, column in columns.items():
        forms, n_records = count_forms(column), len(column)
        for cause in forms.causes:
            found[cause][name] = forms.counts[cause] / max(n_records, 1)
    causes = sorted((cause for cause in FORMS if found[cause]), key=lambda cause: not FORMS[cause].is_number)
    levels = {cause: worst if max(found[cause].values()) > MANY else "warning" for cause in causes}
    return [_say(cause, found[cause], n_records, choose, levels[cause]) for cause in causes]


def _say(cause: str, shares: Mapping[str, float], n_records: int, choose: str, level: str) -> Finding:
    form, names = FORMS[cause], list(shares)
    if len(names) == 1:
        which = f"column {names[0]!r} holds {form.words}, in {share(shares[names[0]], 1)} of the first {n_records:,} "
    else:
        shown = ", ".join(f"{name!r} ({share(shares[name], 1)})" for name in names[:MOST_NAMES])
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        which = f"columns {shown}{more} hold {form.words}, in such shares of the first {n_records:,} "
    numbers: dict[str, Any] = {"cause": cause, "columns": names[:1000], "shares": list(shares.values())[:1000]}
    cure = form.cure.format(choose=choose, them="it" if len(names) == 1 else "them")
    numbers |= {"records": n_records, "is_number": form.is_number}
    return Finding(level, "not_numbers", f"{which}records: {cure}", numbers)
