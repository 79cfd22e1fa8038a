"""Shares of the budget and constants of private PCA, covariance and low-rank approximation."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SecondMomentRecipe:
    """What the budget is spent on, and where a joint draw is too slow; public, and the same for all data.

    The shares are of mu^2 where delta > 0 and of epsilon where delta = 0. They were not tuned: a number of rows and a
    mean need little beside a matrix, and the paper of the orbits halves the budget between eigenvalues and directions.

    Attributes
    ----------
    count : Fraction
        Of a noisy number of rows, where it is secret and needed.
    center : Fraction
        Of a private center.
    eigenvalues : Fraction
        Of the rest, where the exponential mechanism releases eigenvalues as well as directions.
    joint_work : int
        Directions are drawn all at once where their number times columns^3 is at most this: a slow joint draw takes
        1e-7 to 3e-7 s times that product (benchmarks/RESULTS.md), some several times as long, which is minutes.
    """

    count: Fraction = Fraction(2, 100)
    center: Fraction = Fraction(10, 100)
    eigenvalues: Fraction = Fraction(1, 2)
    joint_work: int = 10**9


RECIPE = SecondMomentRecipe()
