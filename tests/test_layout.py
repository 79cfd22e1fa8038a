"""The shape of the project: imports point one way, and every source file has its test."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import hushrank

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "hushrank", ROOT / "tests"

# Room -> rooms it may import, from docs/architecture.md. A room may always import itself; there are no exceptions.
LEAVES = {"parameters", "exceptions"}
ARROWS = {
    "__main__": {"cli"},
    "__init__": {"registry"},
    "registry": set(),
    "exceptions": set(),
    "parameters": {"exceptions"},
    "privacy": LEAVES,
    "linalg": LEAVES,
    "bounds": LEAVES,
    "orbit": {"linalg", "privacy.noise", *LEAVES},
    "archive": {"privacy", "__init__", *LEAVES},
    "data": {"linalg", *LEAVES},
    "engine": {"data", "linalg", *LEAVES},
    "base": {"archive", "privacy", *LEAVES},
    "estimator": {"base", "engine", "data", "privacy", *LEAVES},
    "estimators": {"estimator", "base", "data", "archive", "orbit", "bounds", "linalg", "privacy", *LEAVES},
    "loading": {"registry", "archive", *LEAVES},
    "evaluation": {"estimators", "data", "linalg", "privacy", *LEAVES},
    "checks": {"base", "engine", "data", "evaluation", "privacy", *LEAVES},
    "report": {"estimators", "evaluation", "privacy", *LEAVES},
    "web": {"report", "estimators", "data", "archive", "privacy", *LEAVES},
    "cli": {"registry", "estimators", "base", "engine", "data", "evaluation", "report", "web", "archive", "privacy",
            "__init__", *LEAVES},
}  # fmt: skip
MOST_LINES = 300


def modules():
    return sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def layer_of(path):
    return path.parts[0].removesuffix(".py")


def imported_names(path):
    """Dotted names below hushrank that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse((SOURCE / path).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} uses a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_allowed(layer, name):
    """Whether `layer` may import the dotted name inside hushrank."""
    inside = name.removeprefix("hushrank").removeprefix(".")
    target = inside.split(".")[0]
    if target == layer:
        return True
    if not (SOURCE / target).is_dir() and not (SOURCE / f"{target}.py").exists():
        target = inside = "__init__"  # a name defined in the package itself, such as __version__
    return any(inside == allowed or inside.startswith(f"{allowed}.") for allowed in ARROWS[layer])


@pytest.mark.parametrize("path", modules(), ids=str)
def test_imports_follow_the_arrows(path):
    wrong = [n for n in imported_names(path) if n.split(".")[0] == "hushrank" and not is_allowed(layer_of(path), n)]
    assert wrong == []


def test_a_wrong_arrow_is_noticed():
    assert not is_allowed("linalg", "hushrank.privacy.events")
    assert not is_allowed("privacy", "hushrank.linalg.integer_sums.integer_gram")
    assert not is_allowed("orbit", "hushrank.privacy.events.Pure")
    assert is_allowed("orbit", "hushrank.privacy.noise.continuous.uniforms")
    assert is_allowed("cli", "hushrank.__version__")


def imported_packages(path):
    return {name.split(".")[0] for name in imported_names(path)}


@pytest.mark.parametrize("path", modules(), ids=str)
def test_two_seams_hold(path):
    """Only privacy/noise makes randomness, only estimator.py and synthetic.py touch scikit-learn."""
    text = (SOURCE / path).read_text()
    synthetic = path == Path("evaluation/synthetic.py")
    if path.parts[:2] != ("privacy", "noise") and not synthetic:
        assert not {"random", "secrets", "cryptography"} & imported_packages(path)
        assert not any(name.startswith("numpy.random") for name in imported_names(path))
        assert "np.random" not in text and "urandom" not in text
    if path != Path("estimator.py") and not synthetic:
        assert "sklearn" not in imported_packages(path)


@pytest.mark.parametrize("path", modules(), ids=str)
def test_a_file_has_one_subject_and_says_it(path):
    text = (SOURCE / path).read_text()
    assert ast.get_docstring(ast.parse(text)), "no docstring"
    assert len(text.splitlines()) <= MOST_LINES


def test_every_room_has_its_arrows():
    assert {layer_of(path) for path in modules()} == set(ARROWS)


def test_tests_mirror_sources():
    sources = {path for path in modules() if path.name not in ("__init__.py", "__main__.py")}
    expected = {path.with_name(f"test_{path.name}") for path in sources}
    found = {path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path("test_layout.py")}
    across = {path for path in found if path.parts[0] == "system"}  # what crosses rooms has no source of its own
    assert sorted(map(str, expected - found)) == [], "sources without a test of their own"
    assert sorted(map(str, found - across - expected)) == [], "tests without a source"


def test_importing_the_package_does_no_work():
    code = """import hushrank, sys
loaded = {name for name in sys.modules if name == 'numpy' or name.startswith('hushrank.')}
sys.exit(loaded != {'hushrank.registry'})"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_public_name_is_there():
    for name in hushrank.__all__:
        assert getattr(hushrank, name) is not None
    assert set(hushrank.__all__) <= set(dir(hushrank))
    with pytest.raises(AttributeError, match="no attribute 'PrivateNothing'"):
        hushrank.PrivateNothing  # noqa: B018
