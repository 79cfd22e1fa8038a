"""Whether heads help: how much of a user's own loss they explain when each record is predicted from the others.

A user's gain is 1 - (loss with heads) / (loss without), over the user's records, each left out once, for several scales
of the prior covariance of heads. It lies below 1 and is positive on average only if the subspace helps. Summed are the
first gain and the differences of the others to it, which are small: so little of them is lost to the bound.
"""

import math

import numpy as np

from hushrank.estimators.personalization.head_kernels import (
    Fit,
    HeadModel,
    RecordArrays,
    Workspace,
    find_products,
    new_workspace,
    quadratic_form,
    solve_head,
)
from hushrank.linalg.quantize import FloatArray, compiled

_LOG_TWO = math.log(2.0)
_LEAST_LEFT = 1e-9  # of a record's own weight, so that a record which decides its own fit does not divide by zero


@compiled
def leave_one_out_gains(records: RecordArrays, model: HeadModel, scales: FloatArray) -> FloatArray:
    """Every user's gain, at least -1, for every scale of the prior covariance; zeros for a user without records.

    From the second on, less the first.
    """
    n_users, k = len(records.indptr) - 1, len(model.subspace)
    gains, work = np.zeros((n_users, len(scales))), new_workspace(records.indptr, k)
    precision = np.empty((k, k))
    scaled = HeadModel(model.subspace, model.mean, precision, model.noise, model.is_logistic)
    for j in range(n_users):
        n = find_products(records, j, model, 0, 1, work)
        for t in range(len(scales)):
            for a in range(k):
                for b in range(k):
                    precision[a, b] = model.precision[a, b] / scales[t]
            fit = solve_head(n, scaled, work)
            if fit.n_records:
                gain = _label_gain(fit, work) if model.is_logistic else _square_gain(records, fit, work)
                gains[j, t] = min(max(gain, -1.0), 1.0) if gain == gain else 0.0
        for t in range(1, len(scales)):
            gains[j, t] -= gains[j, 0]
    return gains


@compiled
def _square_gain(records: RecordArrays, fit: Fit, work: Workspace) -> float:
    """Gain in squared error over predicting zero, or the mean of the user's other answers if that is better."""
    n, total = fit.n_records, 0.0
    for i in range(n):
        total += records.y[work.rows[i]]
    with_heads, zero, mean = 0.0, 0.0, 0.0
    for i in range(n):
        left = max(1.0 - quadratic_form(work.Z, i, work.spread), _LEAST_LEFT)
        answer = records.y[work.rows[i]]
        with_heads += (work.residuals[i] / left) ** 2
        zero += answer * answer
        others = (total - answer) / max(n - 1, 1)
        mean += (answer - others) ** 2
    without = min(zero, mean) if n > 1 else zero
    return 1.0 - with_heads / without if without > 0.0 else 0.0


@compiled
def _label_gain(fit: Fit, work: Workspace) -> float:
    """Gain in logistic loss over predicting one half, or the share of 1 among the user's other labels if it is better.

    A record is left out by one Newton step; shares are those of one more record of each label.
    """
    n, total = fit.n_records, 0.0
    for i in range(n):
        total += work.answers[i]
    with_heads, shares = 0.0, 0.0
    for i in range(n):
        own = quadratic_form(work.Z, i, work.spread)
        logit = 0.0
        for a in range(len(work.head)):
            logit += work.Z[i, a] * work.head[a]
        logit -= work.residuals[i] * own / max(1.0 - work.weights[i] * own, _LEAST_LEFT)
        signed = logit if work.answers[i] > 0.5 else -logit
        with_heads += max(-signed, 0.0) + math.log1p(math.exp(-abs(signed)))
        same = total - 1.0 if work.answers[i] > 0.5 else n - total - 1.0
        shares -= math.log((same + 1.0) / (n + 1.0))
    return 1.0 - with_heads / min(n * _LOG_TWO, shares)
