"""How much of a stream of bytes has been read: so many bytes and records, and a checksum of the bytes."""

import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter

_LARGEST = {"bytes": 2**63 - 1, "records": 2**63 - 1, "checksum": 2**32 - 1}


@dataclass(frozen=True, slots=True)
class Offset:
    """A place in a stream of bytes, at the end of a record.

    Attributes
    ----------
    bytes : int
        Read from the very start, byte order mark and header included.
    records : int
        Read, valid or not; the header is none.
    checksum : int
        CRC-32 of these bytes (`zlib.crc32`): it notices another input, not one that was made to have it.

    Examples
    --------
    >>> start = Offset().after(np.frombuffer(b"row,column,delta", np.uint8), 0)
    >>> start
    Offset(bytes=16, records=0, checksum=1506427107)
    >>> Offset.from_dict(start.to_dict()) == start
    True
    """

    bytes: int = 0
    records: int = 0
    checksum: int = 0

    def __post_init__(self) -> None:
        for name, largest in _LARGEST.items():
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= largest:
                raise InvalidParameter("Offset", name, f"an integer from 0 to {largest}", value)
        if self.records > self.bytes or (self.bytes == 0 and self.checksum):
            requirement = "of no more records than bytes, and no checksum of nothing"
            raise InvalidParameter("Offset", "numbers", requirement, (self.bytes, self.records, self.checksum))

    def after(self, data: NDArray[np.uint8], n_records: int) -> "Offset":
        """The offset when so many more bytes have been read that hold so many records."""
        return Offset(self.bytes + len(data), self.records + n_records, zlib.crc32(data.data, self.checksum))

    def to_dict(self) -> dict[str, int]:
        """Integers by name, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Any) -> "Offset":
        """The offset that `to_dict` described; anything else is refused."""
        if not isinstance(stored, Mapping) or set(stored) != set(_LARGEST):
            requirement = f"a dictionary of {', '.join(_LARGEST)}"
            raise InvalidParameter("Offset", "stored", requirement, type(stored).__name__)
        return cls(**stored)
