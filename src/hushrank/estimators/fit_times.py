"""CPU time of a fit from the number of its ratings or records: lines through measured times of data in memory.

They are good to a factor of two or so on one machine: 2000 to 8000 users, 200 to 2500 items and 0.1 to 0.5 million
ratings; 2000 to 8000 users of 8 to 32 records with 10 to 100 features; 10,000 to 40,000 measurements of matrices of
8 x 8 to 30 x 30. Files must be parsed besides, and the first fit after an installation compiles. What nobody measured,
such as the method "factored_gradient", has no line.
"""

CPU_TIME = "CPU time, about (s)"

_SECONDS_OF_RATING = {"spectral": 1.3e-6, "als": 2.2e-6}


def rating_time(n_ratings: int | None, method: object) -> dict[str, float]:
    """Of a completion; empty where the number of ratings is not known, as in plans.

    Examples
    --------
    >>> rating_time(1_000_000, "spectral"), rating_time(None, "spectral")
    ({'CPU time, about (s)': 1.32}, {})
    """
    seconds = _SECONDS_OF_RATING.get(method) if isinstance(method, str) else None
    return {} if n_ratings is None or seconds is None else {CPU_TIME: 0.02 + seconds * n_ratings}


def record_time(n_records: int | None, n_features: int, method: object) -> dict[str, float]:
    """Of a representation by gradient steps; empty where the number of records is not known, as in plans."""
    if n_records is None or method != "gradient":
        return {}
    return {CPU_TIME: 0.05 + 8e-6 * n_records * (1.0 + n_features / 60.0)}


def measurement_time(n_samples: int, n_rows: int, n_columns: int, design: str) -> dict[str, float]:
    """Of a trace regression, by the numbers that a record has."""
    seconds = {
        "dense": 8e-8 * (n_rows * n_columns + 60.0),
        "rank_one": 2.5e-7 * (n_rows + n_columns + 30.0),
        "entry": 1.1e-5,
    }
    return {CPU_TIME: 0.05 + seconds[design] * n_samples}
