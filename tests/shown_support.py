"""Whether what a page shows is what a command prints.

Spaces and line breaks count for nothing, "..." stands for anything, days and hashes for any of them. All else is the
same, word for word and number for number. Where a release has noise, numbers may be others, except in what is promised
and spent, and so may cells of a table that noise decides; the table has the same columns and as many rows.
"""

import re

NOISY = {"pca", "covariance", "lowrank", "complete", "personalize", "trace", "stream", "evaluate", "demo"}
NOISY |= {"recommend", "predict", "show", "report"}  # what is computed from a release
EXACT = {"promise:", "guarantee:", "budget"}  # first words of lines without noise in them
BY_NOISE = {"", "-", "noise", "weak"}
NUMBER = re.compile(r"[-+]?(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|\d+")
ALIKE = {r"\b\d{4}-\d{2}-\d{2}\b": "DAY", r"\b[0-9a-f]{64}\b": "HASH"}
FRAME = str.maketrans("", "", "┏┓┗┛┡┩├┤┼└┘┌┐━─┳┻╇┴╋┿╈╪┬")
ANYTHING = "..."


def differences(shown, printed, *, noisy=False):
    """What a reader would stumble over, in words; "" if there is nothing."""
    (begin, *others), found = split(tokens(shown)), tokens(printed)
    if not others or not same(begin, found[: len(begin)], noisy):
        return parting(begin, found[: None if not others else len(begin)], noisy)
    start, stop = len(begin), len(found) - len(others[-1])
    if start > stop or not same(others[-1], found[stop:], noisy):
        return f"the end is not {words(others[-1])!r} but {words(found[max(stop, 0) :])!r}"
    for part in others[:-1]:
        places = [i for i in range(start, stop - len(part) + 1) if same(part, found[i : i + len(part)], noisy)]
        if not places:
            return f"{words(part)!r} is not in {words(found[start:stop])!r}"
        start = places[0] + len(part)
    return ""


def tokens(text):
    """Words of a text, and cells of tables, each with whether noise can never change it."""
    for pattern, name in ALIKE.items():
        text = re.sub(pattern, name, text)
    found = []
    for line in text.translate(FRAME).splitlines():
        exact = line.split(" ")[0] in EXACT
        bars = re.split("[│┃]", line)
        if len(bars) > 2:  # a row of a table
            found += [("|", True), *((" ".join(cell.split()), exact) for cell in bars[1:-1])]
        else:
            found += [(word, exact) for word in line.split()]
    return found


def split(wanted):
    """The parts between the places where anything may stand."""
    parts = [[]]
    for token in wanted:
        if token[0] == ANYTHING:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def agrees(wanted, found, noisy):
    """Whether one word or cell is what was to be found."""
    (one, exact), (other, _) = wanted, found
    if one == other or not noisy or exact:
        return one == other
    return bool({one, other} & BY_NOISE) or NUMBER.sub("0", one) == NUMBER.sub("0", other)


def same(part, found, noisy):
    """Whether all words and cells are what was to be found."""
    return len(part) == len(found) and all(agrees(*pair, noisy) for pair in zip(part, found, strict=True))


def parting(part, found, noisy):
    """Where two texts part, in words; "" if they do not."""
    pairs = zip(part, found, strict=False)
    i = next((i for i, pair in enumerate(pairs) if not agrees(*pair, noisy)), min(len(part), len(found)))
    if i == len(part) == len(found):
        return ""
    after, shown, printed = words(part[max(i - 6, 0) : i]), words(part[i : i + 6]), words(found[i : i + 6])
    return f"after {after!r}, {shown!r} is shown, {printed!r} is printed"


def words(part):
    """Words as a text again."""
    return " ".join(word for word, _ in part)
