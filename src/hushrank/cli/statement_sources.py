"""What a statement is made of or compared with: a model file, a ledger, a statement or a hash, told apart and named."""

import hashlib
import re
from pathlib import Path

from hushrank.cli.accounts import ledger_files
from hushrank.exceptions import StatementError

_HEADS = {b"PK": "model", b"SQLite format 3\0": "ledger"}
_HASH, _LIKE_A_HASH = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-fA-F]{32,128}")


def kind_of(source: str) -> str:
    """What a source is: a model, a ledger or else a statement; StatementError for what cannot be read."""
    if _is_url(source):
        return "ledger"
    path = Path(source)
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "it is not an ordinary file")
        with path.open("rb") as file:
            start = file.read(max(map(len, _HEADS)))
    except (OSError, ValueError) as error:
        raise StatementError(f"cannot read {source}: {getattr(error, 'strerror', None) or error}.") from error
    return next((kind for head, kind in _HEADS.items() if start.startswith(head)), "statement")


def is_hash(source: str) -> bool:
    """Whether it has the form of a SHA-256, in small or capital letters, and is no file."""
    return bool(_HASH.fullmatch(source.lower())) and not Path(source).exists()


def is_mistyped_hash(source: str) -> bool:
    """Whether somebody meant a hash, and typed another number of digits."""
    return bool(_LIKE_A_HASH.fullmatch(source)) and not is_hash(source) and not Path(source).exists()


def files_of(source: str | None) -> list[Path]:
    """Files of what a statement is compared with, which no page may overwrite."""
    if source is None or is_hash(source) or is_mistyped_hash(source):
        return []
    return ledger_files(source) if kind_of(source) == "ledger" else [Path(source)]


def file_sha256(path: str) -> str:
    """Hash of a file, as sha256sum prints it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shown(source: str) -> str:
    """A source in messages: of a URL what comes before its first colon, because a password may follow."""
    return f"{source.partition(':')[0]}:..." if _is_url(source) else source


def _is_url(source: str) -> bool:
    if ":" not in source:
        return False
    from hushrank.privacy.ledger.address import looks_like_url  # SQLAlchemy, which few need

    return looks_like_url(source)
