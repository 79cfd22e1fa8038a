"""Names that look alike are one name; what cannot be seen is in none."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger import names
from hushrank.privacy.ledger.names import (
    check_known_name,
    check_new_name,
    check_text,
    find_look_alike,
    skeleton,
)

HIDDEN = (
    "\u3164 \u115f \u1160 \uffa0 \u034f \u200b \u200d \u200e \u2060 \u2063 \ufe00 \ufe0f \u2800 \u180b \u180e \u17b4 "
    "\u00ad \ufeff \U000e0041 \U000e0100 \U0001d159 \U00016fe4"
).split(" ")

CYRILLIC_COP, CYRILLIC_A, GREEK_NOTA = "\u0441\u043e\u0440", "\u0430", "\u03bd\u03bf\u03c4\u03b1"


# Invisible characters


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_what_cannot_be_seen_is_refused_everywhere_in_a_text(hidden):
    for text in (f"{hidden}data", f"da{hidden}ta", f"data{hidden}"):
        for check in (check_new_name, lambda value, owner: check_text(value, "key", owner, 200)):
            with pytest.raises(InvalidParameter, match=r"^(name|key) of test must be (without invisible|a printable)"):
                check(text, "test")
        assert skeleton(text) == "data"


def test_the_refusal_says_which_character():
    with pytest.raises(InvalidParameter, match=r"^note of charge must be without invisible characters, here U\+3164;"):
        check_text("a\u3164", "note", "charge", 200)


def default_ignorable():
    """Fillers, joiners, selectors and tags, by their names in the Unicode database; some are punctuation to see."""
    words = ("FILLER", "VARIATION SELECTOR", "ZERO WIDTH", "INVISIBLE", "GRAPHEME JOINER", "WORD JOINER", "TAG ")
    for number in range(0x110000):
        name = unicodedata.name(chr(number), "")
        if any(word in name for word in words) and not any(word in name for word in ("GAP", "LINE", "CUNEIFORM")):
            yield chr(number)


def test_no_filler_selector_or_tag_of_the_unicode_database_is_missed():
    seen = list(default_ignorable())
    assert len(seen) > 350
    missed = [ascii(char) for char in seen if char.isprintable() and not names._is_within(char, names._INVISIBLE)]
    assert missed == []


# New names


@pytest.mark.parametrize(
    "name",
    [
        "patients-2026",
        "\u00c4rzte 2026",
        "'; DROP TABLE hushrank_history; --",
        "%s :x [red]",
        "\u0434\u0430\u043d\u043d\u044b\u0435-2026",  # Cyrillic alone
        GREEK_NOTA,
        "\u60a3\u8005data",  # ideographs beside Latin
        "\u60a3\u8005\u30c7\u30fc\u30bf",
        "\ud658\uc790 ICU",
        "\u0930\u094b\u0917\u0940",  # Devanagari with vowel signs
        "o\u02bbahu",
        "\u2764 data",
        "12345",
    ],
)
def test_names_in_any_one_script_are_good(name):
    check_new_name(name, "test")
    check_known_name(name, "test")
    assert find_look_alike(name, [name]) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (f"p{CYRILLIC_A}tients", "of letters of one script, not of CYRILLIC and LATIN"),
        ("p\u03b1tients", "of letters of one script, not of GREEK and LATIN"),
        (f"\u03b1{CYRILLIC_A}", "of letters of one script, not of CYRILLIC and GREEK"),
        ("p\u0561tients", "of letters of one script, not of ARMENIAN and LATIN"),
        ("\u13aabc", "of letters of one script, not of CHEROKEE and LATIN"),
        (f"\u60a3{CYRILLIC_A}", "of letters of one script, not of CJK and CYRILLIC"),
        ("\uff50\uff41\uff54", "in Unicode form NFKC, which is 'pat'"),
        ("\ufb01t", "in Unicode form NFKC, which is 'fit'"),
        ("\u2163", "in Unicode form NFKC, which is 'IV'"),
        ("\U0001d41d\U0001d41a", "in Unicode form NFKC, which is 'da'"),
        ("\u0301\u0302", "more than marks without letters"),
        ("", "a printable text of 1 to 200"),
        ("x" * 201, "a printable text of 1 to 200"),
        (None, "a printable text of 1 to 200"),
    ],
)
def test_names_that_mislead_are_refused(name, reason):
    with pytest.raises(InvalidParameter) as refusal:
        check_new_name(name, "test")
    assert (refusal.value.name, refusal.value.owner) == ("name", "test") and reason in refusal.value.requirement


@pytest.mark.parametrize("name", [f"p{CYRILLIC_A}tients", "data\u3164", "\uff44ata", "\ufb01t"])
def test_names_that_were_good_once_can_still_be_opened(name):
    check_known_name(name, "test")


# The same look


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("data", "Data"),
        ("naive", "na\u00efve"),
        ("data", "\u0111ata"),
        ("cop", CYRILLIC_COP),
        ("COP", CYRILLIC_COP.upper()),
        ("vota", GREEK_NOTA),
        ("NOTA", GREEK_NOTA.upper()),
        (GREEK_NOTA, GREEK_NOTA.upper()),  # whose shapes differ
        ("data", f"d{CYRILLIC_A}ta"),
        ("data", "\uff44\uff41\uff54\uff41"),
        ("data", "data\u3164"),
        ("a-b", "a\u2013b"),
        ("a-b", "a\u2212b"),
        ("o'neill", "o\u2019neill"),
        ("a b", "a  b"),
        ("x1", "x\u0661"),
        ("as", "\u13aa\u13da"),  # Cherokee
        ("as", "\uab7a\uabaa"),  # in its small letters
        ("BE", "\ua4d0\ua4f0"),  # Lisu
        ("go", "\u0581\u0585"),  # Armenian
        ("\u529b", "\u30ab"),  # an ideograph and a Katakana letter
    ],
)
def test_these_look_alike(one, other):
    assert find_look_alike(one, ["unlike", other]) == other and find_look_alike(other, ["unlike", one]) == one


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("data", "date"),
        ("data-1", "data-l"),
        ("O", "0"),
        ("a.b", "a-b"),
        ("ab", "a b"),
        ("\u0930\u094b\u0917", "\u0930\u093e\u0917"),  # vowel signs are letters of their own
        ("\u304b\u3093", "\u304c\u3093"),  # so are voiced sounds
    ],
)
def test_these_do_not(one, other):
    assert find_look_alike(one, [other]) is None


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=12))
def test_a_look_has_itself_as_its_look(name):
    look = skeleton(name)
    assert skeleton(look) == look
    assert skeleton(name.upper()) in (look, skeleton(name.upper().lower())) or find_look_alike(name, [name.upper()])


def test_every_look_alike_has_one_shape():
    every = [char for chars in names._LOOK_ALIKES.values() for char in chars]
    assert len(every) == len(set(every)) and not set(every) & set(names._LOOK_ALIKES)
