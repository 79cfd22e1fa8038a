"""What is said of files that cannot be read or that do not belong together, in one line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EACCES, ENOENT
from os import strerror
from pathlib import Path

from hushrank.data.remote_files import Place, RemotePath
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import nearest_name

PARQUET_SUFFIXES = (".parquet", ".pq")

_MOST_SIGNS = 150  # of a path in a message: longer ones are cut


def say_path(path: Place) -> str:
    """A path in a message, see `guess_file`."""
    guess = guess_file(path)
    whole = f"{path}{guess}"
    return whole if len(whole) <= _MOST_SIGNS or not guess else f"{path.name}{guess}"


def guess_file(path: Place) -> str:
    """What lies in the folder of a path that does not exist and may be meant: "; did you mean 'x.csv'?", or nothing.

    Endings do not count, for every other file may share them, but of several files one with the same ending is named.
    """
    if isinstance(path, RemotePath) or path.exists():
        return ""
    try:
        names = sorted(one.name for one in path.parent.iterdir() if not one.name.startswith("."))
    except OSError:
        return ""
    names.sort(key=lambda name: Path(name).suffix == path.suffix)  # of one stem the last counts
    by_stem = {_stem(name): name for name in names}
    nearest = nearest_name(_stem(path.name), by_stem)
    return "" if nearest is None else f"; did you mean {by_stem[nearest]!r}?"


def _stem(name: str) -> str:
    return name.split(".")[0]


@contextmanager
def refuse_damaged(path: Place, kind: str, owner: str, name: str = "X") -> Iterator[None]:
    """Turn what a library says about an unreadable file into one line that shows nothing of its content.

    Libraries raise errors of every kind over files that a stranger made. `name` is the parameter that the file is for.
    """
    try:
        yield
    except (InvalidParameter, AssertionError):
        raise
    except Exception as error:
        number = getattr(error, "errno", None)
        if isinstance(error, FileNotFoundError | PermissionError) and number is None:  # of storage elsewhere
            number = ENOENT if isinstance(error, FileNotFoundError) else EACCES
        reason = strerror(number) if isinstance(number, int) else "damaged, or of another kind"
        reason = "too large for the memory" if isinstance(error, MemoryError) else reason
        if isinstance(path, RemotePath):  # other libraries have a part in it, whose messages may show an address
            reason = reason.replace("damaged,", "out of reach, damaged") + f" ({type(error).__name__})"
            raise InvalidParameter(owner, name, f"a readable {kind} file", f"{path.name}: {reason}") from None
        raise InvalidParameter(owner, name, f"a readable {kind} file", f"{path.name}: {reason}") from error


def check_same(columns: Sequence[tuple[Place, set[str]]], kind: str, owner: str) -> None:
    """Refuse files of one folder, of a kind such as "CSV", whose columns differ."""
    for path, names in columns[1:]:
        odd = sorted(names ^ columns[0][1])
        if odd:
            requirement = f"a folder of {kind} files with the same columns"
            raise InvalidParameter(owner, "X", requirement, f"column {odd[0]!r} not in all, see {path.name}")
