"""Names, keys and notes of a ledger: what may be written, and which names look alike.

Two names that look alike would be two budgets for one data set. Only creation is strict: a name that a ledger holds
already can be opened, whatever it is.

New names  no invisible characters; compatibility forms (full width, ligatures) as their plain ones, NFKC; letters of
           one script, or Latin ones beside East Asian ones: "highly restrictive" in Unicode Technical Standard 39; and
           not the look of a name that exists.
Look       case, diacritical marks, spaces and dashes apart, letters by their shape: the Cyrillic for "cop" is "cop".
           ASCII characters are told apart, also 0 and O, 1 and l.
"""

import unicodedata
from collections.abc import Iterable
from typing import Any

from hushrank.exceptions import InvalidParameter

MAX_NAME, MAX_KEY, MAX_NOTE = 200, 200, 1000

# Printable to Python, and drawn as nothing: default-ignorable characters, fillers and blanks, first and last of each.
_INVISIBLE = [
    ("\u00ad", "\u00ad"),  # soft hyphen
    ("\u034f", "\u034f"),  # combining grapheme joiner
    ("\u061c", "\u061c"),
    ("\u115f", "\u1160"),  # Hangul fillers
    ("\u17b4", "\u17b5"),  # Khmer inherent vowels
    ("\u180b", "\u180f"),  # Mongolian variation selectors and vowel separator
    ("\u200b", "\u200f"),  # zero widths and marks of direction
    ("\u2028", "\u202e"),
    ("\u2060", "\u206f"),  # word joiner, invisible operators
    ("\u2800", "\u2800"),  # Braille without dots
    ("\u3164", "\u3164"),  # Hangul filler
    ("\ufe00", "\ufe0f"),  # variation selectors
    ("\ufeff", "\ufeff"),
    ("\uffa0", "\uffa0"),  # Hangul filler of half width
    ("\ufff0", "\ufffb"),
    ("\U00013441", "\U00013442"),  # blank hieroglyphs
    ("\U00016fe4", "\U00016fe4"),  # Khitan filler
    ("\U0001bca0", "\U0001bca3"),  # shorthand controls
    ("\U0001d159", "\U0001d159"),  # null notehead
    ("\U0001d173", "\U0001d17a"),
    ("\U000e0000", "\U000e0fff"),  # tags, further variation selectors
]

# Diacritical marks of no particular script; vowel signs and the like belong to the letters of theirs.
_MARKS = [("\u0300", "\u036f"), ("\u1ab0", "\u1aff"), ("\u1dc0", "\u1dff"), ("\u20d0", "\u20ff"), ("\ufe20", "\ufe2f")]

# By shape: letters of the Greek, Cyrillic, Armenian, Cherokee, Coptic and Lisu scripts, small capitals, letters with a
# stroke or without their dot; then signs; then Katakana and the ideographs that they look like.
_LOOK_ALIKES = {
    "a": "\u0251\u0391\u03b1\u0410\u0430\u13aa\u1d00\ua4ee",
    "b": "\u0180\u0299\u0392\u03b2\u0412\u042c\u0432\u044c\u13f4\ua4d0",
    "c": "\u03f9\u0421\u0441\u13df\u1d04\u2ca4\u2ca5\ua4da",
    "d": "\u0111\u0501\u13a0\u1d05\ua4d3",
    "e": "\u0395\u03b5\u0415\u0435\u13ac\u1d07\ua4f0",
    "f": "\u0192\ua4dd\ua730",
    "g": "\u0261\u0262\u050d\u0581\u13c0\ua4d6",
    "h": "\u0127\u029c\u0397\u041d\u043d\u04ba\u04bb\u0570\u13bb\u2c8e\ua4e7",
    "i": "\u0131\u0268\u0269\u026a\u0399\u03b9\u0406\u0456\u04c0\u13a5\u2c92\ua4f2",
    "j": "\u0237\u037f\u03f3\u0408\u0458\u0575\u13ab\u1d0a\ua4d9",
    "k": "\u039a\u03ba\u041a\u043a\u13e6\u1d0b\u2c94\ua4d7",
    "l": "\u0142\u01c0\u029f\u04cf\u053c\u13de\ua4e1",
    "m": "\u039c\u041c\u043c\u13b7\u1d0d\u2c98\ua4df",
    "n": "\u0274\u039d\u03b7\u043f\u0578\u2c9a\ua4e0",
    "o": "\u00f8\u0275\u039f\u03bf\u03c3\u041e\u043e\u0555\u0585\u1d0f\u2c9e\u2c9f\ua4f3",
    "p": "\u03a1\u03c1\u0420\u0440\u13e2\u1d18\u2ca2\u2ca3\ua4d1",
    "q": "\u051a\u051b\u0566",
    "r": "\u0280\u0433\u13d2\ua4e3",
    "s": "\u0405\u0455\u054f\u13da\ua4e2\ua731",
    "t": "\u0167\u03a4\u03c4\u0422\u0442\u13a2\u1d1b\u2ca6\ua4d4",
    "u": "\u0289\u03bc\u03c5\u054d\u057d\u1d1c\ua4f4",
    "v": "\u028b\u03bd\u0474\u0475\u13d9\u1d20\ua4e6",
    "w": "\u03c9\u0460\u0461\u051c\u051d\u0561\u13b3\u1d21\ua4ea",
    "x": "\u03a7\u03c7\u0425\u0445\u2cac\ua4eb",
    "y": "\u028f\u03a5\u03b3\u0423\u0443\u04ae\u04af\u13a9\u2ca8\ua4ec",
    "z": "\u0396\u13c3\u1d22\ua4dc",
    "-": "\u02d7\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212",
    "'": "`\u00b4\u02b9\u02bb\u02bc\u02c8\u2018\u2019\u201b\u2032",
    '"': "\u201c\u201d\u201f\u2033",
    ",": "\u201a",
    ":": "\u02d0\u2236\ua789",
    "/": "\u2044\u2215",
    "\\": "\u2216",
    "|": "\u2223\u2502",
    "*": "\u2217",
    "~": "\u223c",
    "!": "\u01c3",
    "\u4e00": "\u30fc",
    "\u4e8c": "\u30cb",
    "\u516b": "\u30cf",
    "\u529b": "\u30ab",
    "\u535c": "\u30c8",
    "\u53e3": "\u30ed",
    "\u5915": "\u30bf",
    "\u5de5": "\u30a8",
    "\u30d8": "\u3078",
}
_BY_SHAPE = {ord(char): shape for shape, chars in _LOOK_ALIKES.items() for char in chars}

# First words of the names of letters; scripts that may stand beside Latin and beside each other.
_EAST_ASIAN = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "HANGUL", "BOPOMOFO"}
_OF_NO_SCRIPT = {"MODIFIER"}


def check_text(value: Any, name: str, owner: str, most: int) -> None:
    """One printable line, all of which can be seen: every database stores it, and no terminal is led astray by it."""
    _check_line(value, name, owner, most)
    hidden = [char for char in value if _is_within(char, _INVISIBLE)]
    if hidden:
        raise InvalidParameter(owner, name, f"without invisible characters, here U+{ord(hidden[0]):04X}", value)


def check_known_name(name: Any, owner: str) -> None:
    """What the name of a data set that exists may be: everything that was ever allowed."""
    _check_line(name, "name", owner, MAX_NAME)


def check_new_name(name: Any, owner: str) -> None:
    """What the name of a new data set must be by itself."""
    check_text(name, "name", owner, MAX_NAME)
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        raise InvalidParameter(owner, "name", f"in Unicode form NFKC, which is {plain!r}", name)
    scripts = sorted({_script(char) for char in name if char.isalpha()} - _OF_NO_SCRIPT)
    if len(scripts) > 1 and not set(scripts) <= {"LATIN", *_EAST_ASIAN}:
        raise InvalidParameter(owner, "name", f"of letters of one script, not of {' and '.join(scripts)}", name)
    if not skeleton(name):
        raise InvalidParameter(owner, "name", "more than marks without letters", name)


def find_look_alike(name: str, others: Iterable[str]) -> str | None:
    """The first of `others` that looks like `name`, as written or in small letters, and is another name."""
    looks = _looks(name)
    return next((other for other in others if other != name and looks & _looks(other)), None)


def _looks(name: str) -> set[str]:
    return {skeleton(name), _fold(name).casefold()}


def skeleton(name: str) -> str:
    """The look of a name: equal for names that are easily taken for each other."""
    look = _fold(name)
    for _ in range(2):  # some letters have a shape of their own in each case, others in one
        look = look.translate(_BY_SHAPE).casefold()
    return look


def _fold(name: str) -> str:
    """The name without marks, invisible characters and repeated spaces, digits of any script as 0 to 9."""
    visible = (char for char in unicodedata.normalize("NFKD", name) if not _is_within(char, _INVISIBLE + _MARKS))
    return " ".join("".join(str(unicodedata.decimal(char, char)) for char in visible).split())


def _check_line(value: Any, name: str, owner: str, most: int) -> None:
    is_text = isinstance(value, str) and 0 < len(value) <= most and value.isprintable()
    if not is_text or value != value.strip() or value != unicodedata.normalize("NFC", value):
        requirement = f"a printable text of 1 to {most} characters, without spaces around it and in Unicode form NFC"
        raise InvalidParameter(owner, name, requirement, value)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNNAMED").split()[0]


def _is_within(char: str, ranges: Iterable[tuple[str, str]]) -> bool:
    return any(first <= char <= last for first, last in ranges)
