"""Keys of sealed files: given as bytes, kept in a file, or made once for every holder.

Key file   at least 32 random bytes that only their owner can read and write.
Own key    the file that HUSHRANK_CHECKPOINT_KEY names; else hushrank/checkpoint.key in $XDG_STATE_HOME, or in
           ~/.local/state, made when it is first asked for. Of several processes that start at once one makes it.
"""

import errno
import hashlib
import os
from os import PathLike
from pathlib import Path

from hushrank.archive.atomic import ONLY_OWNER, create_file, open_ordinary
from hushrank.exceptions import CheckpointError, InvalidParameter
from hushrank.privacy.noise.keystream import Keystream

KEY_BYTES = 32
"""Length of the keys that `load_key` returns, and of those in files that are made here."""

VARIABLE = "HUSHRANK_CHECKPOINT_KEY"

_LEAST_GIVEN, _MOST_IN_FILE = 16, 4096  # bytes
_PURPOSE = b"hushrank checkpoint key\0"
_OTHERS = 0o077
_NO_SUCH_NAME = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL}
_ADVICE = "hushrank.archive.seal_keys.make_key_file makes one"


def load_key(key: bytes | str | PathLike[str] | None) -> bytes:
    """The key of sealed files, 32 bytes.

    Parameters
    ----------
    key : bytes, str, PathLike or None
        At least 16 random bytes (not a password, which can be guessed); the path of a key file, which stands for the
        bytes in it; or None, which stands for the holder's own key and makes it if there is none.

    Raises
    ------
    CheckpointError
        If a key file is missing, too short, open to others, belongs to somebody else or cannot be made.

    Examples
    --------
    >>> len(load_key(bytes(range(16))))
    32
    >>> load_key(b"short")
    Traceback (most recent call last):
    hushrank.exceptions.InvalidParameter: key of load_key must be at least 16 random bytes; got 5.
    """
    if key is None:
        return _own_key()
    if isinstance(key, str | PathLike):
        # A name of nothing may be a key that was given as text, so it is not shown.
        missing = f"there is no key file of the name that was given; {_ADVICE}, and a key itself is given as bytes"
        return _read_key(Path(os.fsdecode(key)), missing)
    if not isinstance(key, bytes):
        raise InvalidParameter("load_key", "key", "bytes, the path of a key file or None", type(key))
    if len(key) < _LEAST_GIVEN:
        raise InvalidParameter("load_key", "key", f"at least {_LEAST_GIVEN} random bytes", len(key))  # never the key
    return _condense(key)


def make_key_file(path: str | PathLike[str]) -> None:
    """Make a key file of 32 random bytes for its owner only; CheckpointError if there is a file, which stays."""
    try:
        create_file(Path(path), _random_bytes(), ONLY_OWNER)
    except FileExistsError:
        raise CheckpointError(f"cannot make the key file {path}: it exists, and files may be sealed with it.") from None
    except (OSError, ValueError) as error:  # ValueError for a zero in a path
        raise CheckpointError(f"cannot make the key file {path}: {_reason(error)}.") from error


def _own_key() -> bytes:
    named = os.environ.get(VARIABLE)
    if named:  # never made: a slip in the name would give a new key, which opens nothing
        return _read_key(Path(named), f"{VARIABLE} must hold the path of a key file, and there is none; {_ADVICE}")
    path = _own_path()
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_file(path, _random_bytes(), ONLY_OWNER)
    except FileExistsError:
        pass  # another process was first, and its key is the holder's
    except (OSError, ValueError) as error:
        message = f"cannot make the key file {path}: {_reason(error)}; name another in {VARIABLE}."
        raise CheckpointError(message) from error
    return _read_key(path, f"the key file {path} can be neither read nor made; name another in {VARIABLE}")


def _own_path() -> Path:
    folder = Path(os.environ.get("XDG_STATE_HOME") or ".")
    if not folder.is_absolute():  # the XDG specification: others are to be ignored
        try:
            folder = Path.home() / ".local" / "state"
        except RuntimeError as error:
            raise CheckpointError(f"there is no home folder for a key file: name one in {VARIABLE}.") from error
    return folder / "hushrank" / "checkpoint.key"


def _read_key(path: Path, missing: str) -> bytes:
    """The key in a file; `missing` is what to say if there is none."""
    try:
        with open_ordinary(path) as file:
            _check_closed_to_others(path, os.fstat(file.fileno()))
            data = file.read(_MOST_IN_FILE + 1)
    except OSError as error:
        if error.errno in _NO_SUCH_NAME:
            raise CheckpointError(f"{missing}.") from None
        raise CheckpointError(f"cannot read the key file {path}: {_reason(error)}.") from error
    except ValueError:  # a zero in a path
        raise CheckpointError(f"{missing}.") from None
    if not KEY_BYTES <= len(data) <= _MOST_IN_FILE:
        raise CheckpointError(f"{path} is no key file: one has {KEY_BYTES} to {_MOST_IN_FILE} bytes; {_ADVICE}.")
    return _condense(data)


def _check_closed_to_others(path: Path, status: os.stat_result) -> None:
    """Refuse a key that others could know or choose; where files have no such modes (Windows), the folder decides."""
    if os.name != "posix":
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise CheckpointError(f"the key file {path} belongs to another user, who knows the key: make one of your own.")
    if status.st_mode & _OTHERS:
        advice = f"run `chmod 600 {path}`, or make a new one if they may have read or written it"
        raise CheckpointError(f"the key file {path} is open to others: {advice}.")


def _condense(data: bytes) -> bytes:
    return hashlib.sha256(_PURPOSE + data).digest()


def _random_bytes() -> bytes:
    return Keystream().words(KEY_BYTES // 8).tobytes()


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or f"{error}"
