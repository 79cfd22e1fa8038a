"""Sources of statements: told apart by how they begin, and named without what may be secret in them."""

import hashlib

import pytest

from hushrank.cli.statement_sources import file_sha256, files_of, is_hash, is_mistyped_hash, kind_of, shown
from hushrank.exceptions import StatementError
from statement_support import fill_ledger, small

HASH = "0a" * 32


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small("PrivatePCA").save("pca.hush")
    fill_ledger("budget.db").close()
    return tmp_path


def test_sources_are_told_apart_by_how_they_begin(folder):
    urls = ["postgresql://a@b/c", "postgresql:a@b/c", "sqlite:///x"]
    assert [kind_of(name) for name in ("pca.hush", "budget.db", *urls)] == ["model", *["ledger"] * 4]
    (folder / "x.yaml").write_bytes(b"")
    assert kind_of("x.yaml") == "statement" and is_hash(HASH) and not is_hash("x.yaml") and not is_hash(HASH + "0")
    for name in ("a\0b", "none", "."):
        with pytest.raises(StatementError, match="cannot read"):
            kind_of(name)


def test_files_that_must_not_be_overwritten(folder):
    assert [path.name for path in files_of("pca.hush")] == ["pca.hush"]
    journals = ["budget.db", "budget.db-journal", "budget.db-wal", "budget.db-shm"]
    assert (
        [path.name for path in files_of("budget.db")]
        == journals
        == [path.name for path in files_of("sqlite:///budget.db")]
    )
    assert files_of(None) == [] == files_of(HASH) == files_of("postgresql://a@b/c")
    assert file_sha256("pca.hush") == hashlib.sha256((folder / "pca.hush").read_bytes()).hexdigest()


def test_hashes_mistyped_ones_and_files_that_are_called_like_one(folder):
    assert is_hash(HASH.upper()) and not is_mistyped_hash(HASH)
    assert is_mistyped_hash(HASH[:-1]) and is_mistyped_hash(HASH + "F") and files_of(HASH[:-1]) == []
    assert not any(map(is_mistyped_hash, ("pca.hush", "abc", "g" * 63, "none.db")))
    (folder / HASH).write_bytes((folder / "pca.hush").read_bytes())
    assert not is_hash(HASH) and [path.name for path in files_of(HASH)] == [HASH]


@pytest.mark.parametrize("rest", ["//a:SECRET@h/b", "a:SECRET@h/b", "//a:x::SECRET@h:1/b", "//a:1/SECRET@h/b"])
def test_of_an_address_only_its_kind_is_shown(rest):
    assert shown(f"postgresql:{rest}") == "postgresql:..." and shown("a/b.hush") == "a/b.hush"
