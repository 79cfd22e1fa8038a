"""Records on which a private representation shows the noise of its last release, the users' gains.

Reading    without usable records every gain is zero, and the published gains are noise alone.
Scale      that which the model states. How much of the budget is left for the last release depends on the number of
           searches before it; that all releases together cost no more than the plan is checked by the fit itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.base import Sizes
from hushrank.privacy.probes import NoiseProbe, normal_level

FloatArray = NDArray[np.float64]

_USERS = 20
_FITS = 160  # each shows five numbers


def representation_probe(plan: Any, sizes: Sizes) -> NoiseProbe | None:
    """The probe of a fit with this plan, or None where nothing can be read: a choice."""
    if not hasattr(plan, "event"):
        return None

    def levels(model: Any) -> dict[str, float]:
        return {"gains of users": normal_level(_released(model.gains_), model.gain_deviation_)}

    nothing = np.full((_USERS, sizes["n_features"]), np.nan)
    return NoiseProbe((nothing, nothing[:, 0], np.arange(_USERS)), levels, _FITS)


def _released(gains: FloatArray) -> FloatArray:
    """What the gains were made of: the first, and the differences of the others to it."""
    return np.append(gains[0], gains[1:] - gains[0])
