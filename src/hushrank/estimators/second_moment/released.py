"""What a fit released of the second moment of its rows: everything computed from it is post-processing."""

import math
from dataclasses import dataclass

import numpy as np

from hushrank.estimators.second_moment.orbit_draw import OrbitSample
from hushrank.linalg.noise_spectra import NoiseLaw
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.row_frames import Frame
from hushrank.linalg.spectral import Matrix
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice


@dataclass(frozen=True, slots=True, eq=False)
class SecondMoment:
    """Released numbers, in the coordinates of a frame.

    Attributes
    ----------
    matrix : ndarray or OrbitSample
        A + noise, around the center; or a draw.
    count : int or None
        Exact where it is public; noisy, at least 1, or None under add_remove.
    center : ndarray of shape (number of columns of the data,)
        What was subtracted, in the units of the data.
    law : NoiseLaw or None
        Of the noise in `matrix`; None for a draw.
    frame : Frame or None
        None where coordinates are the columns of the data, in their units.
    radius : float or None
        To which rows were shortened, in the coordinates; None where it is a parameter.
    mean : ndarray or None
        The part of the center, in coordinates, that was released together with `matrix`.
    mean_variance : float
        Of the error of `mean` along a direction.
    """

    matrix: Matrix | OrbitSample
    count: int | None
    center: Matrix
    law: NoiseLaw | None
    frame: Frame | None = None
    radius: float | None = None
    mean: Matrix | None = None
    mean_variance: float = 0.0

    @property
    def n_samples(self) -> int:
        """The number of rows, for estimators that ask for it."""
        assert self.count is not None
        return self.count

    def gains(self) -> FloatArray:
        """Coordinates for one unit of the data, for each coordinate."""
        size = len(self.matrix) if isinstance(self.matrix, np.ndarray) else len(self.matrix.factor)
        return np.ones(size) if self.frame is None or self.frame.gain is None else self.frame.gain

    def to_columns(self, values: Matrix, n_features: int, rest: float = 0.0) -> Matrix:
        """Numbers for each coordinate as numbers for all columns of the data: `rest` in columns that were left out."""
        if self.frame is None or self.frame.columns is None:
            return values
        whole = np.full((*values.shape[:-1], n_features), rest, values.dtype)
        whole[..., self.frame.columns] = values
        return whole


def noise_law_of(lattice: GramLattice, width: int) -> NoiseLaw:
    """The law of the noise of a release of rows of so many entries, and of every block on its diagonal."""
    is_complex = lattice.field is Field.COMPLEX
    if isinstance(lattice, SymmetricLattice):
        return NoiseLaw("gaussian", lattice.scale * (math.sqrt(2.0) if is_complex else 1.0), 0, is_complex)
    return NoiseLaw("wishart", lattice.scale, width if is_complex else width + 1, is_complex)
