"""Messages about data say which file they are about: a command line may name several."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from hushrank.exceptions import InvalidParameter

_DATA = ("X", "y", "users", "updates", "ratings", "history", "pairs")


@contextmanager
def about_file(path: str | PathLike[str] | None) -> Iterator[None]:
    """Put the name of a file before what is said about the data in it, unless it is there already.

    Examples
    --------
    >>> with about_file("people.csv"):
    ...     raise InvalidParameter("PrivatePCA", "X", "a table with the column 'age'", "no such column")
    Traceback (most recent call last):
      ...
    hushrank.exceptions.InvalidParameter: people.csv: X of PrivatePCA must be a table with the column 'age'; got ...
    """
    try:
        yield
    except InvalidParameter as error:
        if path is not None and error.name in _DATA and Path(path).name not in str(error):
            error.args = (f"{path}: {error}",)
        raise
