"""Seeded fits release the bits that they released before: rebuilding the house moves no integer.

`tests/stored/released_bits.json` was recorded before the packages were parted, with digests of everything that left a
mechanism. A change that is meant to release other numbers makes the file anew, and the changelog says so:
`PYTHONPATH=tests python tests/system/test_released_bits.py WORDS` for the fits with these words in their names, which
touches no other line; without words for all.
"""

import json
import re
import sys
from pathlib import Path

import pytest

from hushrank.privacy.figures import show_event
from seeded_fits import FITS, recorded_releases

RECORDED = Path(__file__).parents[1] / "stored" / "released_bits.json"


def releases_of(name):
    """Guarantee and digests of the releases of a fit."""
    is_drawn = "exponential" in name
    FITS[name]()  # what it imports is there before names are replaced
    with recorded_releases(with_sums=is_drawn) as found:
        model = FITS[name]()
    kept = [f"{release} {digest}" for release, digest in found if not is_drawn or release == "total"]
    return {"guarantee": in_full(model.privacy_), "releases": kept}


def in_full(given):
    """A guarantee as it prints, with all digits of its numbers."""
    terms = str(given).split(", ", 2)[2].replace(show_event(given.event), str(given.event))
    return f"epsilon={given.epsilon}, delta={given.delta}, {terms}"


@pytest.mark.parametrize("name", FITS)
def test_the_bits_are_those_of_before(name):
    recorded = json.loads(RECORDED.read_text())
    assert name in recorded, "a new fit is recorded as the docstring says"
    expected = recorded[name]
    assert len(expected["releases"]) >= 1
    found = releases_of(name)
    assert found["releases"] == expected["releases"]
    assert without_last_digits(found["guarantee"]) == without_last_digits(expected["guarantee"])


def without_last_digits(guarantee):
    """The guarantee with 12 digits of epsilon, which is accounted for in float64; its event has all digits."""
    return re.sub(r"^epsilon=([^,]+)", lambda found: f"epsilon={float(found[1]):.12g}", guarantee)


def test_another_seed_or_another_bound_is_noticed(monkeypatch):
    import seeded_fits

    expected = json.loads(RECORDED.read_text())["pca, Gaussian"]
    original = seeded_fits.rows
    monkeypatch.setattr(seeded_fits, "rows", lambda: original() * (1 + 2**-20))
    assert releases_of("pca, Gaussian") != expected


def record(words=""):
    """Write the file anew for fits with these words in their names."""
    kept = {name: old for name, old in json.loads(RECORDED.read_text()).items() if words not in name}
    found = {name: kept[name] if name in kept else releases_of(name) for name in FITS if words in name or name in kept}
    RECORDED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    record(*sys.argv[1:])
