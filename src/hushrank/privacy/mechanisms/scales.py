"""How an event, exact rational arithmetic and the int64 range fix the public numbers of a release."""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real
from hushrank.privacy.events import Event, Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.noise.deviates import MAX_EXPONENT
from hushrank.privacy.noise.laws import Law, exponential_law, normal_law
from hushrank.privacy.noise.linear import MAX_COEFFICIENT
from hushrank.privacy.rational import float_at_least, sqrt_at_least


def rows_changed(neighbors: Neighbors) -> int:
    """Rows in which neighboring data sets differ: one leaves and one comes, or one of the two."""
    return 1 if neighbors == Neighbors.ADD_REMOVE else 2


def check_gaussian_or_pure(event: Event, owner: str) -> Gaussian | Pure:
    """Return the event if Gaussian or additive pure noise can execute it."""
    # Additive noise has privacy loss in [-epsilon, epsilon], twice the range of a bounded-range mechanism.
    if isinstance(event, Gaussian) or (isinstance(event, Pure) and not event.bounded_range):
        return event
    raise InvalidParameter(owner, "event", "Gaussian(noise_multiplier) or Pure(epsilon)", event)


def lattice_bits(n_max: int, owner: str, *, most: int, powers: int) -> int:
    """Largest b <= most for which n_max contributions of size 2^(powers b) stay within 2^62."""
    limit = check_integer(n_max, "n_max", owner, minimum=1, maximum=1 << 60)
    return min(most, (62 - (limit - 1).bit_length()) // powers)


def largest_bound(bound_at: Callable[[int], int], most: int) -> tuple[int, int]:
    """Largest exponent k <= MAX_EXPONENT with bound_at(k) <= most, and that bound (cut at `most` for k = 0)."""
    for exponent in range(MAX_EXPONENT, -1, -1):
        bound = bound_at(exponent)
        if bound <= most:
            return exponent, bound
    return 0, most


def check_lattice(unit: float, bound: int, is_private: bool, owner: str, event: Event, norm: tuple[str, float]) -> None:
    """Refuse a lattice that is not private, has no unit for a person, or does not fit float64."""
    if bound < 1:
        raise InvalidParameter(owner, "event", "an event whose noise leaves at least one lattice unit a person", event)
    if not is_private:
        raise InvalidParameter(owner, "event", "one that the noise of the lattice is large enough for", event)
    if not sys.float_info.min <= unit <= sys.float_info.max / 2.0**64:
        raise InvalidParameter(owner, norm[0], "a bound whose lattice fits float64", norm[1])


def settle_fields(lattice: Any, owner: str, kind: type[Gaussian] | type[Pure], norm: str, **largest: int) -> None:
    """Give the fields of a lattice, which anybody may make by hand, the types that its arithmetic takes them for.

    The event must be of the `kind` that the noise executes; the relation may be a word. The `norm` becomes a float,
    and what is named in `largest` a Python integer between 0 and that: NumPy's wrap around, and 2^64 is then 0.
    """
    if not isinstance(check_gaussian_or_pure(lattice.event, owner), kind):
        raise InvalidParameter(owner, "event", kind.__name__, lattice.event)
    settled: dict[str, Any] = {"neighbors": parse_neighbors(lattice.neighbors, owner)}
    settled[norm] = check_real(getattr(lattice, norm), norm, owner, above=0)
    for name, maximum in largest.items():
        settled[name] = check_integer(getattr(lattice, name), name, owner, minimum=0, maximum=maximum)
    for name, value in settled.items():
        object.__setattr__(lattice, name, value)


def check_lattice_kind(lattice: Any, kind: type[Any] | tuple[type[Any], ...], owner: str) -> None:
    """Refuse the lattice of another mechanism: its numbers mean another noise."""
    if not isinstance(lattice, kind):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise InvalidParameter(owner, "lattice", f"a {names}", type(lattice).__name__)


def noise_law(event: Gaussian | Pure) -> Law:
    """The law of additive noise for an event: normal, or, with a sign, Laplace."""
    return normal_law() if isinstance(event, Gaussian) else exponential_law()


def scale_for(squared_l2: int, l1: int, event: Event, owner: str) -> float:
    """Noise scale of a statistic with these sensitivities under a Gaussian or a pure event, rounded up."""
    executable = check_gaussian_or_pure(event, owner)
    if isinstance(executable, Gaussian):
        exact = squared_l2 * Fraction(executable.noise_multiplier) ** 2
        scale = sqrt_at_least(exact) if exact <= Fraction(MAX_COEFFICIENT) ** 2 else math.inf
    else:
        exact = l1 / Fraction(executable.epsilon)
        scale = float_at_least(exact) if exact <= MAX_COEFFICIENT else math.inf
    if scale > MAX_COEFFICIENT:
        raise InvalidParameter(owner, "event", f"an event with noise scale below {MAX_COEFFICIENT:.3g}", event)
    return scale
