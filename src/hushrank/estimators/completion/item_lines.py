"""What item means are expected to be before ratings of the item tell: a line in popularity and public features.

Post-processing of released sums. How far features count is chosen by the evidence of the model in which estimates have
known variances about the line; where they do not clearly tell something, they are left out.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.completion.feature_recipe import FEATURES
from hushrank.estimators.completion.recipes import ITEM_MEANS

FloatArray = NDArray[np.float64]


def fit_line(
    popularity: FloatArray, G: FloatArray, estimates: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values at the items of the line of largest evidence, for estimates of precision `weights`, and its slopes on G.

    G has mean squared row norm 1.
    """
    line = np.column_stack([np.ones(len(popularity)), popularity])
    without = _Regression.of(line, estimates, weights)
    alone, coefficients = without.solve(np.array(ITEM_MEANS.line_variances))
    found = [(alone + FEATURES.line_evidence, coefficients)]
    if G.shape[1]:
        with_features = _Regression.of(np.hstack([line, G]), estimates, weights)
        variances = [variance for variance in FEATURES.line_variances if variance > 0.0]
        priors = (np.append(ITEM_MEANS.line_variances, np.full(G.shape[1], variance)) for variance in variances)
        found += [with_features.solve(prior) for prior in priors]
    _, coefficients = max(found, key=lambda fit: fit[0])
    X = line if len(coefficients) == 2 else np.hstack([line, G])
    return X @ coefficients, coefficients[2:] if len(coefficients) > 2 else np.zeros(G.shape[1])


class _Regression(NamedTuple):
    """Weighted normal equations, which are the same for all priors."""

    normal: FloatArray
    moment: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, weights: FloatArray) -> "_Regression":
        """Of columns X and estimates y."""
        return cls(X.T @ (weights[:, None] * X), X.T @ (weights * y))

    def solve(self, priors: FloatArray) -> tuple[float, FloatArray]:
        """Log evidence, up to a constant, and coefficients; `priors` are variances of these."""
        normal = self.normal + np.diag(1 / priors)
        coefficients = np.linalg.solve(normal, self.moment).astype(np.float64, copy=False)
        evidence = float(self.moment @ coefficients) - float(np.linalg.slogdet(normal)[1]) - math.fsum(np.log(priors))
        return evidence / 2, coefficients
