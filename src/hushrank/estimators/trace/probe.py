"""Records on which a private trace regression shows the noise of its last release, the votes.

Reading    without usable records every vote is zero, and the published gain is noise alone.
Scale      that which the model states. How much of the budget is left for the last release depends on the number of
           steps before it; that all releases together cost no more than the plan is checked by the fit itself.
"""

from typing import Any

import numpy as np

from hushrank.base import Sizes
from hushrank.data.records.forms import record_shape
from hushrank.privacy.probes import NoiseProbe, normal_level

_RECORDS = 20
_FITS = 256  # each shows one number


def trace_probe(design: str, sizes: Sizes) -> NoiseProbe:
    """The probe of a fit of this design."""

    def levels(model: Any) -> dict[str, float]:
        return {"votes of records": normal_level(model.gain_, model.gain_deviation_)}

    shape = sizes["n_rows"], sizes["n_columns"]
    nothing = np.full((_RECORDS, *record_shape(design, shape)), np.nan)
    return NoiseProbe((nothing, np.full(_RECORDS, np.nan)), levels, _FITS)
