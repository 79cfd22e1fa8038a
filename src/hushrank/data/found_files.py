"""Which files hold the data at a path: one file, told by its suffix, or those of a folder, all read as one data set."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from hushrank.data.files import PARQUET_SUFFIXES, guess_file, say_path
from hushrank.data.text_files import DATA_SUFFIXES, text_suffix
from hushrank.exceptions import InvalidParameter


def find_files(data: str | PathLike[str], owner: str, suffixes: Sequence[str] = DATA_SUFFIXES) -> list[Path]:
    """The files of a folder, see `folder_files`, or one file with one of the suffixes."""
    path = Path(fspath(data))
    if path.is_dir():
        return folder_files(path, owner)
    check_suffix(path, owner, suffixes)
    if not path.is_file():
        raise InvalidParameter(owner, "X", "an existing file", say_path(path))
    return [path]


def check_suffix(path: Path, owner: str, suffixes: Sequence[str] = DATA_SUFFIXES) -> str:
    """The suffix of a file, in lower case; refused if it is another."""
    suffix = suffix_of(path)
    if suffix not in suffixes:
        requirement = f"a folder of Parquet or CSV files or a file ending in {', '.join(suffixes)}"
        raise InvalidParameter(owner, "X", requirement, f"{path.name}{guess_file(path)}")
    return suffix


def folder_files(folder: Path, owner: str) -> list[Path]:
    """Parquet files anywhere below a folder or, where there are none, CSV and TSV files, sorted.

    Names that start with a dot or an underscore are passed over.
    """
    found = sorted(
        path
        for path in folder.rglob("*")
        if suffix_of(path) in DATA_SUFFIXES
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        and path.is_file()
    )
    if not found:
        raise InvalidParameter(owner, "X", "a folder with Parquet or CSV files", f"{folder.name}: none found")
    return [path for path in found if suffix_of(path) in PARQUET_SUFFIXES] or found


def are_texts(paths: Sequence[Path]) -> bool:
    """Whether files that were found are CSV or TSV files."""
    return text_suffix(paths[0]) is not None


def suffix_of(path: Path) -> str:
    """The ending of a name that tells the kind of a file, in lower case.

    Examples
    --------
    >>> suffix_of(Path("Ratings.CSV.gz")), suffix_of(Path("x.tar.gz"))
    ('.csv.gz', '.gz')
    """
    return text_suffix(path) or path.suffix.lower()
