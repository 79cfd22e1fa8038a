"""Results that were paid for reach a file: if the place they were meant for fails, another one, which is named.

Order      beside the place that was wished for, the current folder, a new folder of the temporary ones that only the
           owner can enter; last of all standard output. Nothing that exists is overwritten unless --force was given.
"""

import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import click

from hushrank.archive.atomic import ONLY_OWNER, create_file, replace_file
from hushrank.archive.container import check_writable
from hushrank.exceptions import ModelFileError

FORCE_OPTION = click.option("--force", is_flag=True, help="Replace files that exist.")
_MOST_NAMES = 1000
# Of file systems on which a file cannot be made by a link.
_NO_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EMLINK)

Write = Callable[[Path], None]


def check_place(option: str, out: Path, kept: Iterable[Path], named: str, *, force: bool = False) -> None:
    """Refuse a place where no file can be made, where it would overwrite what is kept, `named` in the message, or any.

    With `force` a file that is there and not kept is replaced.
    """
    check_writable(out)
    if any(_is_inside(out, place) for place in kept):
        raise click.UsageError(f"{option} {out} would overwrite {named}.")
    check_new(option, out, force=force)


def check_new(option: str, out: Path, *, force: bool) -> None:
    """Refuse a file that exists, unless it may be replaced."""
    if os.path.lexists(out) and not force:
        raise click.UsageError(f"{option} {out} exists already. --force replaces it.")


def _is_inside(out: Path, kept: Path) -> bool:
    """Whether `out` is the file `kept`, which need not be there yet, or lies in the existing folder `kept`."""
    place, own = resolve(out), resolve(kept)
    return place == own or (own.is_dir() and own in place.parents)


def resolve(path: Path) -> Path:
    """Where a path leads; click.UsageError for one that leads in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # RuntimeError until Python 3.12
        raise click.UsageError(f"{path} leads nowhere: links in it lead to each other.") from None


def write_text(text: str, place: Path, *, force: bool = True) -> None:
    """Write a page as a whole or not at all; without `force` FileExistsError where there is a file by now."""
    data = text.encode("utf-8", "backslashreplace")
    if not force:
        try:
            return create_file(place, data)
        except OSError as error:
            if error.errno not in _NO_LINKS or os.path.lexists(place):
                raise

    def fill(file: BinaryIO) -> None:
        file.write(data)

    replace_file(place, fill)


def write_result(text: str, place: Path, *, force: bool) -> None:
    """Write what costs nothing to make again; click.ClickException where it cannot be written."""
    try:
        write_text(text, place, force=force)
    except OSError as error:
        raise click.ClickException(f"cannot write {place}: {error.strerror or error}.") from error


class Writer:
    """Writes what one run has learned, and remembers what went wrong until all is written."""

    def __init__(self, force: bool) -> None:
        self._force = force
        self._problems: list[str] = []

    def write(self, what: str, wished: Path, write: Write) -> Path | None:
        """Let `write` make a file at the place that was wished for, or else at another; where it is, if anywhere."""
        try:
            if wished.exists() and not self._force:  # since it was checked
                raise FileExistsError(errno.EEXIST, "it exists by now")
            write(wished)
            return wished
        except (OSError, ModelFileError) as error:
            reason = _reason(error, wished)
        place = _write_elsewhere(wished, write)
        found = f"THE {what.upper()} IS IN {place}" if place else "and there is no other place for it"
        self._problems.append(f"cannot write {wished}: {reason}; {found}")
        return place

    def echo(self, text: str, name: str, write: Write | None) -> None:
        """Print a result; `write` makes a file of it instead where that fails, unless it is None."""
        try:
            click.echo(text)
        except OSError as error:
            self._problems.append(f"cannot write to stdout: {error.strerror or error}")
            if write is not None:
                place = _write_elsewhere(Path(name), write)
                self._problems[-1] += f"; THE RESULT IS IN {place}" if place else ", nor to any file"

    def finish(self) -> None:
        """Raise an error if something is not where it was wished for."""
        if self._problems:
            raise click.ClickException("; ".join(self._problems))


def _write_elsewhere(wished: Path, write: Write) -> Path | None:
    for place in _places(wished):
        try:
            write(place)
        except (OSError, ModelFileError):
            place.unlink(missing_ok=True)
            continue
        return place
    try:
        folder = Path(tempfile.mkdtemp(prefix="hushrank-"))  # for its owner alone
        write(folder / wished.name)
        (folder / wished.name).chmod(ONLY_OWNER)
        return folder / wished.name
    except (OSError, ModelFileError):
        return None


def _places(wished: Path) -> Iterator[Path]:
    """New files that were made for a result, each empty: nobody else's is overwritten, also by two runs at once."""
    for folder in (wished.parent.absolute(), Path(".")):
        for number in range(2, _MOST_NAMES):
            place = folder.absolute() / f"{wished.stem}-{number}{wished.suffix}"
            try:
                os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            except FileExistsError:
                continue
            except OSError:
                break
            yield place
            break


def _reason(error: OSError | ModelFileError, place: Path) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error).removeprefix(f"cannot write {place}: ").removesuffix(".")
