"""Which files hold the data at a path: one file, told by its suffix, or those of a folder, all read as one data set."""

from collections.abc import Iterator, Sequence
from operator import itemgetter

from hushrank.data.files import PARQUET_SUFFIXES, guess_file, refuse_damaged, say_path
from hushrank.data.remote_files import Given, Place, RemotePath, to_path
from hushrank.data.text_files import DATA_SUFFIXES, text_suffix
from hushrank.exceptions import InvalidParameter


def find_files(data: Given, owner: str, suffixes: Sequence[str] = DATA_SUFFIXES) -> list[Place]:
    """The files of a folder, see `folder_files`, or one file with one of the suffixes."""
    path = to_path(data, owner)
    with refuse_damaged(path, "data", owner):
        if path.is_dir():
            return folder_files(path, owner)
        check_suffix(path, owner, suffixes)
        if not path.is_file():
            raise InvalidParameter(owner, "X", "an existing file", say_path(path))
    return [path]


def check_suffix(path: Place, owner: str, suffixes: Sequence[str] = DATA_SUFFIXES) -> str:
    """The suffix of a file, in lower case; refused if it is another."""
    suffix = suffix_of(path)
    if suffix not in suffixes:
        requirement = f"a folder of Parquet or CSV files or a file ending in {', '.join(suffixes)}"
        raise InvalidParameter(owner, "X", requirement, f"{path.name}{guess_file(path)}")
    return suffix


def folder_files(folder: Place, owner: str) -> list[Place]:
    """Parquet files anywhere below a folder or, where there are none, CSV and TSV files, sorted.

    Names that start with a dot or an underscore are passed over.
    """
    found = [path for _, path in sorted(_named_files(folder), key=itemgetter(0))]
    if not found:
        raise InvalidParameter(owner, "X", "a folder with Parquet or CSV files", f"{folder.name}: none found")
    return [path for path in found if suffix_of(path) in PARQUET_SUFFIXES] or found


def _named_files(folder: Place) -> Iterator[tuple[tuple[str, ...], Place]]:
    """Files with names of data, and the parts of their names below a folder."""
    for parts, path in _below(folder):
        if suffix_of(path) in DATA_SUFFIXES and not any(part.startswith((".", "_")) for part in parts):
            if isinstance(path, RemotePath) or path.is_file():
                yield parts, path


def _below(folder: Place) -> Iterator[tuple[tuple[str, ...], Place]]:
    if isinstance(folder, RemotePath):
        return ((path.below, path) for path in folder.files())
    return ((path.relative_to(folder).parts, path) for path in folder.rglob("*"))


def are_texts(paths: Sequence[Place]) -> bool:
    """Whether files that were found are CSV or TSV files."""
    return text_suffix(paths[0]) is not None


def suffix_of(path: Place) -> str:
    """The ending of a name that tells the kind of a file, in lower case.

    Examples
    --------
    >>> from pathlib import Path
    >>> suffix_of(Path("Ratings.CSV.gz")), suffix_of(Path("x.tar.gz"))
    ('.csv.gz', '.gz')
    """
    return text_suffix(path) or path.suffix.lower()
