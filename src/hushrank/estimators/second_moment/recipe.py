"""Shares of the budget and constants of private PCA, covariance and low-rank approximation."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SecondMomentRecipe:
    """What the budget is spent on with a public radius, and where a joint draw is too slow; the same for all data.

    The shares are of mu^2 where delta > 0 and of epsilon where delta = 0. They were not tuned: a number of rows and a
    mean need little beside a matrix, and the paper of the orbits halves the budget between eigenvalues and directions.

    Attributes
    ----------
    count : Fraction
        Of a noisy number of rows, where it is secret and needed.
    center : Fraction
        Of a private center, where the radius is public.
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


@dataclass(frozen=True, slots=True)
class RadiusRecipe:
    """What the budget is spent on where the radius is private (docs/guide/pca.md; shares as above).

    Chosen with the tables of benchmarks/second_moment_tables.py in view, whose results are in benchmarks/RESULTS.md.

    Attributes
    ----------
    radius, wide_radius : Fraction
        Of the search for the clipping radius; the second where so few rows make the first too unsure.
    least_first, most_first : Fraction
        Of the search for a radius before anything is known, for the center or for the choice of columns: as much as
        makes it sure, within these.
    hopeless_first : Fraction
        Where a sure search would take more than this, no center is bought.
    sure_gaussian, sure_pure : float
        Rows times mu (times epsilon) of a search, above which fewer than 1 in 300 searches are off by a factor of two.
    least_length, most_length : Fraction
        Of the length of the mean, which tells whether a center is worth its price: as much as gives it the error
        `length_error` in radii, within these.
    length_error, unsure_length : float
        The error that is asked for, and above which the length is not bought, and the center is bought unseen.
    many_rows : int
        From so many on, pure means of the least share are bought unseen.
    worth : float
        A center is bought where it makes the noise smaller than so many times what it is without.
    least_center, most_center : Fraction
        Of the mean; in between, as much as gives it the error `center_error` in radii.
    center_error, hopeless_center : float
        Error of the center in radii that is asked for, and above which no center is bought.
    flatness : float
        Sum of absolute values of a typical row over its largest possible one, sqrt(columns) times the Euclidean norm.
    offset, far_offset : float
        Constant entry of an augmented row, in radii; the second for a matrix of covariances without a center.
    scales : Fraction
        Of the squares of the columns, with standardize="private".
    columns : Fraction
        Of the choice of columns, with select_columns="private".
    clear_column : float
        Deviations of the noise above which a column is kept.
    least_columns, most_columns : int
        That are kept.
    middle, first_level : float
        Smallest level of a radius, and largest level of a first radius.
    """

    radius: Fraction = Fraction(5, 100)
    wide_radius: Fraction = Fraction(10, 100)
    least_first: Fraction = Fraction(1, 100)
    most_first: Fraction = Fraction(5, 100)
    hopeless_first: Fraction = Fraction(8, 100)
    sure_gaussian: float = 15.0
    sure_pure: float = 45.0
    least_length: Fraction = Fraction(1, 200)
    most_length: Fraction = Fraction(2, 100)
    length_error: float = 0.05
    unsure_length: float = 0.25
    many_rows: int = 50_000
    worth: float = 1.0
    least_center: Fraction = Fraction(5, 100)
    most_center: Fraction = Fraction(20, 100)
    center_error: float = 0.1
    hopeless_center: float = 0.4
    flatness: float = 0.75
    offset: float = 0.2
    far_offset: float = 0.4
    scales: Fraction = Fraction(10, 100)
    columns: Fraction = Fraction(20, 100)
    clear_column: float = 4.0
    least_columns: int = 50
    most_columns: int = 2000
    middle: float = 0.5
    first_level: float = 0.75


RECIPE = SecondMomentRecipe()
RADIUS_RECIPE = RadiusRecipe()

CLIPPED_FOR_COMPONENTS = 10.0
"""Rows that are shortened, over the Frobenius norm of the noise in squared radii, where directions are asked for.

Directions survive the shortening of rows better than variances do.
"""
CLIPPED_FOR_MATRIX = 3.0
"""The same where the matrix itself is asked for."""
