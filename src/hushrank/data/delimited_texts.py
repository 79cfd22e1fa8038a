"""CSV and TSV files that are one table: each has a header of its own, and columns are found by name in each."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from hushrank.data.delimited import DelimitedText, Fields
from hushrank.data.remote_files import Place


class DelimitedTexts:
    """Files one after the other; a record of one of them cannot change how another file is read.

    Parameters
    ----------
    texts : sequence of DelimitedText
        At least one.
    """

    def __init__(self, texts: Sequence[DelimitedText]) -> None:
        self.texts = tuple(texts)

    @property
    def names(self) -> list[str]:
        """The header of the first file that has records, or else of the first."""
        return self._first.names

    @property
    def has_records(self) -> bool:
        """Whether anything follows the header of any file."""
        return any(text.has_records for text in self.texts)

    @property
    def _first(self) -> DelimitedText:
        return next((text for text in self.texts if text.has_records), self.texts[0])

    def fields(self, names: Sequence[str]) -> Iterator[Fields]:
        """The columns of these names, of all records, see `DelimitedText.fields`."""
        for text in self.texts:
            yield from fields_of(text, names)

    def first_cells(self, names: Sequence[str], most: int) -> dict[str, pa.Array]:
        """Texts of the first records of the first file that has any, see `DelimitedText.first_cells`.

        Files share the columns that a fit uses. Others, which only a check asks for, may be missing in one.
        """
        return self._first.first_cells([name for name in names if name in self._first.names], most)

    def read(self, names: Sequence[str]) -> dict[str, pa.Array]:
        """Whole columns by name, see `DelimitedText.read`."""
        parts = [text.read(names) for text in self.texts]
        return {name: pa.concat_arrays([part[name] for part in parts]) for name in names}

    def apart(self) -> Iterator["DelimitedTexts"]:
        """Each of the files that have records alone."""
        return (DelimitedTexts([text]) for text in self.texts if text.has_records)


def open_texts(paths: Iterable[Place], owner: str) -> DelimitedTexts:
    """Read the headers of some files."""
    return DelimitedTexts([DelimitedText(path, owner) for path in paths])


def fields_of(text: DelimitedText, names: Sequence[str]) -> Iterator[Fields]:
    """The columns of these names of one file."""
    places = {name: j for j, name in enumerate(text.names)}
    return text.fields([places[name] for name in names])
