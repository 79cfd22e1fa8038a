r"""The error of a shared representation with private learning: exact formulas, one bound, and the paper's rates.

Model      y_ij = <x_ij, U* v_j> + z_ij with U* of shape (d, k) orthonormal, x standard Gaussian, n users of m records.
Exact      `expected_head_error`, the risk of a head fitted to fresh records.
Bound      `expected_net_loss`, what a draw of the exponential mechanism from a net loses on average.
Rates      what ends in `_rate` holds up to constants and logarithms that the paper does not give. They are set to 1 and
           left out, so a value proves nothing about one data set; it shows how error grows.

The statements of Section 4 and 5 were not at hand, only their proofs (Appendices B and C): Assumption 4.1, Lemmas 4.4
and 4.6, Theorems 4.2 and 5.2 are put together here from what the proofs show, with their errors corrected. Each
correction is in docs/privacy/representation_bounds.md.

References
----------
Jain, Rush, Smith, Song, Thakurta: Differentially Private Model Personalization, NeurIPS 2021.
"""

import math
from dataclasses import dataclass

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real

START_DEGRADED, START_HOPELESS = 0.25, 0.5
"""Values of `start_noise_ratio` above which a fit was seen to lose accuracy, and to learn nothing."""


@dataclass(frozen=True, slots=True)
class RepresentationSetting:
    """Public guesses of the numbers of Assumption 4.1.

    Parameters
    ----------
    n_users, n_features, n_components, n_records : int
        n, d, k and m, the records of each user.
    noise_to_signal : float, default 0
        NSR: standard deviation of an answer about its mean over the root of lambda_k, the k-th eigenvalue of the mean
        of v_j v_j^T.
    incoherence : float, default 1
        mu, at least 1: no head is longer than mu sqrt(k lambda_k).
    condition : float, default 1
        lambda_1 / lambda_k, at least 1.
    """

    n_users: int
    n_features: int
    n_components: int
    n_records: int
    noise_to_signal: float = 0.0
    incoherence: float = 1.0
    condition: float = 1.0

    def __post_init__(self) -> None:
        owner = "RepresentationSetting"
        check_integer(self.n_users, "n_users", owner, minimum=2)
        check_integer(self.n_features, "n_features", owner, minimum=1)
        check_integer(self.n_components, "n_components", owner, minimum=1, maximum=self.n_features)
        check_integer(self.n_records, "n_records", owner, minimum=1)
        check_real(self.noise_to_signal, "noise_to_signal", owner, minimum=0)
        check_real(self.incoherence, "incoherence", owner, minimum=1)
        check_real(self.condition, "condition", owner, minimum=1)


def expected_head_error(
    n_components: int, n_fresh: int, *, subspace_error: float, head_norm: float, noise: float
) -> float:
    """Mean of |U* v - U v^|^2 for a head v^ fitted by least squares to fresh records: exact ((22)-(24), corrected).

    It is g^2 (1 + k/(m-k-1)) + noise^2 k/(m-k-1), g the norm of the part of U* v outside of the span of U. The
    population error of a prediction is larger by noise^2. The paper's g^2 + noise^2 k/m leaves out that what is outside
    of the span acts as noise, and takes the mean of an inverse Wishart matrix for the inverse of its mean.

    Parameters
    ----------
    n_components, n_fresh : int
        k, and the records m that the head is fitted to. For m <= k + 1 the mean is infinite: such heads need a prior.
    subspace_error : float
        Gamma: sine of the angle between U* v and the span of U. With the largest sine, the value is an upper bound.
    head_norm, noise : float
        Norm of v, and standard deviation of an answer about its mean.

    Examples
    --------
    >>> expected_head_error(2, 5, subspace_error=0.0, head_norm=1.0, noise=0.5)
    0.25
    """
    owner = "expected_head_error"
    k = check_integer(n_components, "n_components", owner, minimum=1)
    m = check_integer(n_fresh, "n_fresh", owner, minimum=0)
    outside = _check_sine(subspace_error, owner) * check_real(head_norm, "head_norm", owner, minimum=0)
    variance = check_real(noise, "noise", owner, minimum=0) ** 2
    if m <= k + 1:
        return math.inf
    return outside**2 * (1 + k / (m - k - 1)) + variance * k / (m - k - 1)


def start_noise_ratio(n_users: int, n_features: int, n_components: int, n_records: float, mu: float) -> float:
    """Noise of the private start over its signal, 2 k (1 + d/m) sqrt(d) / (n mu): from public numbers alone.

    Measured, not proved: below START_DEGRADED no fit tried was lost in the noise of its start, above START_HOPELESS
    most were and no later step recovered them. `mu` is that of Gaussian DP for the whole budget, and m an assumed
    number of records of a user.

    Examples
    --------
    >>> round(start_noise_ratio(20_000, 50, 2, 5, 0.26), 3)
    0.06
    >>> start_noise_ratio(2000, 100, 5, 5, 0.26) > START_HOPELESS
    True
    """
    owner = "start_noise_ratio"
    n = check_integer(n_users, "n_users", owner, minimum=1)
    d = check_integer(n_features, "n_features", owner, minimum=1)
    k = check_integer(n_components, "n_components", owner, minimum=1, maximum=d)
    m = check_real(n_records, "n_records", owner, above=0)
    return 2 * k * (1 + d / m) * math.sqrt(d) / (n * check_real(mu, "mu", owner, above=0))


def printed_noise_multiplier(epsilon: float, delta: float) -> float:
    """Delta(epsilon, delta) = sqrt(8 log(1/delta)) / epsilon, the paper's noise for a release of sensitivity 1.

    Enough while epsilon <= log(1/delta), for two releases in parallel blocks (Lemma 4.3) as for one (Lemma 4.5); about
    twice what exact accounting asks for.

    Examples
    --------
    >>> round(printed_noise_multiplier(1.0, 1e-6), 3)
    10.513
    """
    owner = "printed_noise_multiplier"
    epsilon = check_real(epsilon, "epsilon", owner, above=0)
    log = math.log(1 / check_real(delta, "delta", owner, above=0, below=1))
    if epsilon > log:
        raise InvalidParameter(owner, "epsilon", f"at most log(1/delta) = {log:g}", epsilon)
    return math.sqrt(8 * log) / epsilon


def start_error_rate(setting: RepresentationSetting, noise_multiplier: float) -> float:
    """Rate, not a bound: Frobenius error of the subspace after the private start (Lemma 4.6, its proof with Lemma B.1).

    With z = NSR + mu sqrt(k), the clip of answers in units of sqrt(lambda_k):
    z^2 (sqrt(d k / (n m)) + noise_multiplier d sqrt(d k) / n), at most sqrt(k).

    Examples
    --------
    >>> start_error_rate(RepresentationSetting(10**6, 4, 1, 4), 0.0)
    0.001
    """
    delta = check_real(noise_multiplier, "noise_multiplier", "start_error_rate", minimum=0)
    n, d, k, m = _sizes(setting)
    error = _answer_clip(setting) ** 2 * (math.sqrt(d * k / (n * m)) + delta * d * math.sqrt(d * k) / n)
    return min(error, math.sqrt(k))


def subspace_error_rate(
    setting: RepresentationSetting, noise_multiplier: float, n_steps: int, *, start_error: float
) -> float:
    """Rate, not a bound: Frobenius error of the subspace after alternating minimization (Lemma 4.4, from (32)).

    The sum of 4^-T start_error, NSR mu sqrt(d k T / (n m)) for the noise of answers, and noise_multiplier T mu d k
    (NSR + mu sqrt(k) + mu k sqrt(d)) / n for that of both releases; at most sqrt(k). The last T is missing in the
    paper: blocks of users are disjoint, so each step sees n / T of them.

    Examples
    --------
    >>> setting = RepresentationSetting(10**6, 50, 2, 10)
    >>> subspace_error_rate(setting, 0.0, 5, start_error=0.5)  # nothing but the start is left
    0.00048828125
    """
    owner = "subspace_error_rate"
    delta = check_real(noise_multiplier, "noise_multiplier", owner, minimum=0)
    steps = check_integer(n_steps, "n_steps", owner, minimum=1)
    n, d, k, m = _sizes(setting)
    start = check_real(start_error, "start_error", owner, minimum=0)
    sampling = setting.noise_to_signal * setting.incoherence * math.sqrt(d * k * steps / (n * m))
    private = delta * steps * _step_noise(setting) / n
    return min(start / 4.0**steps + sampling + private, math.sqrt(k))


def excess_risk_rate(
    setting: RepresentationSetting, noise_multiplier: float, n_steps: int, *, n_fresh: int, head_variance: float = 1.0
) -> float:
    """Rate, not a bound: population error of the predictions less that of the truth (Theorem 4.2).

    `expected_head_error` for the longest head, sqrt(k) mu sqrt(lambda_k), at the error of Lemma 4.4 from the start of
    Lemma 4.6; that formula is exact, the error of the subspace is a rate.

    Parameters
    ----------
    setting, noise_multiplier, n_steps
        As in `subspace_error_rate`.
    n_fresh : int
        Records that every head is fitted to in the end, apart from the others.
    head_variance : float, default 1
        lambda_k.

    Examples
    --------
    >>> nothing_learned = excess_risk_rate(RepresentationSetting(100, 50, 2, 10, 0.1), 10.0, 5, n_fresh=5)
    >>> round(nothing_learned, 12)  # mu^2 k (1 + 1) + NSR^2
    4.01
    """
    owner = "excess_risk_rate"
    variance = check_real(head_variance, "head_variance", owner, above=0)
    start = start_error_rate(setting, noise_multiplier)
    error = subspace_error_rate(setting, noise_multiplier, n_steps, start_error=start)
    return expected_head_error(
        setting.n_components,
        n_fresh,
        subspace_error=min(error, 1.0),
        head_norm=setting.incoherence * math.sqrt(setting.n_components * variance),
        noise=setting.noise_to_signal * math.sqrt(variance),
    )


def net_size_log(n_features: int, n_components: int, radius: float) -> float:
    """Bound on the log of how many Frobenius balls of a radius r cover the orthonormal (d, k) matrices.

    d k log(1 + 2 sqrt(k) / r), with centers among these matrices. The paper has (2 d + 1) k log(9 sqrt(k) / r).

    Examples
    --------
    >>> round(net_size_log(3, 1, 2.0) / math.log(2), 12)
    3.0
    """
    owner = "net_size_log"
    d = check_integer(n_features, "n_features", owner, minimum=1)
    k = check_integer(n_components, "n_components", owner, minimum=1, maximum=d)
    return d * k * math.log1p(2 * math.sqrt(k) / check_real(radius, "radius", owner, above=0))


def expected_net_loss(
    n_users: int, n_features: int, n_components: int, epsilon: float, *, feature_norm: float
) -> float:
    """Bound on the mean loss per user of the drawn representation over that of U*, in units of xi C ((36)-(41)).

    For a draw with probability proportional to exp(-epsilon score / (2 xi L C)), which is epsilon-DP, from a net of the
    best radius; score is the sum over users of the smallest mean loss of a head of norm at most C, the loss is
    xi-Lipschitz, features U^T x are clipped to the norm L, and x is standard Gaussian. It is the minimum over radii r
    of r + 2 L log(net) / (n epsilon). The paper's exponent is a quarter of this one, which privacy does not ask for.

    Examples
    --------
    >>> round(expected_net_loss(100_000, 8, 1, 1.0, feature_norm=3.0), 4)
    0.0045
    """
    owner = "expected_net_loss"
    n, epsilon = check_integer(n_users, "n_users", owner, minimum=1), check_real(epsilon, "epsilon", owner, above=0)
    d = check_integer(n_features, "n_features", owner, minimum=1)
    k = check_integer(n_components, "n_components", owner, minimum=1, maximum=d)
    unit = 2 * check_real(feature_norm, "feature_norm", owner, above=0) / (n * epsilon)
    # min over r of r + width log(1 + a/r), with a = 2 sqrt(k): r (r + a) = a width.
    a, width = 2 * math.sqrt(k), unit * d * k
    radius = 2 * width / (1 + math.sqrt(1 + 4 * width / a))
    return radius + unit * net_size_log(d, k, radius)


def lipschitz_risk_rate(
    n_users: int, n_features: int, n_components: int, n_records: int, epsilon: float, *, feature_norm: float
) -> float:
    """Rate, not a bound: excess population risk of Algorithm 4 for a Lipschitz loss, in units of xi C (Theorem 5.2).

    `expected_net_loss` plus sqrt(k/m) for heads and sqrt(k d / (n m)) for the representation, where m is half of the
    records, as U and heads take halves. The paper has sqrt(d / (n m)) for a class with a free head per user, which does
    not fall with n; for fixed heads it needs the factor sqrt(k).

    Examples
    --------
    >>> lipschitz_risk_rate(10**9, 8, 1, 200, 1.0, feature_norm=3.0) < 0.11  # sqrt(k/m) is left
    True
    """
    m = check_integer(n_records, "n_records", "lipschitz_risk_rate", minimum=2) / 2
    private = expected_net_loss(n_users, n_features, n_components, epsilon, feature_norm=feature_norm)
    return private + math.sqrt(n_components / m) + math.sqrt(n_components * n_features / (n_users * m))


def _check_sine(value: float, owner: str) -> float:
    sine = check_real(value, "subspace_error", owner, minimum=0)
    if sine > 1:
        raise InvalidParameter(owner, "subspace_error", "a sine, in [0, 1]", value)
    return sine


def _sizes(setting: RepresentationSetting) -> tuple[int, int, int, int]:
    return setting.n_users, setting.n_features, setting.n_components, setting.n_records


def _answer_clip(setting: RepresentationSetting) -> float:
    """zeta in units of sqrt(lambda_k)."""
    return setting.noise_to_signal + setting.incoherence * math.sqrt(setting.n_components)


def _step_noise(setting: RepresentationSetting) -> float:
    """(sqrt(k) eta^2 + eta zeta) sqrt(d k) / lambda_k with eta = mu sqrt(lambda_k d k): (31) for one user."""
    width = setting.n_features * setting.n_components
    eta = setting.incoherence * math.sqrt(width)
    return (math.sqrt(setting.n_components) * eta**2 + eta * _answer_clip(setting)) * math.sqrt(width)
