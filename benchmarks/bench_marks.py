"""How often marks call chance a finding: data without structure, of every job, and one factor more than there is.

Without structure, answers and ratings are drawn at random; with it there are the factors of the last column, and one or
two more are asked for. Marks come from the release alone, so that all of this could be published.
"""

import numpy as np

import hushrank as hr
from hushrank.evaluation.synthetic import shared_representation, synthetic_ratings
from hushrank.evaluation.trace_data import trace_records
from measure import replace_section, table

TITLE = "Marks: what is called a finding"
N_USERS, N_ITEMS, REPEATS = 2000, 60, 20


def chance_ratings(seed):
    """Ratings that nothing explains, by users who choose items independently."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((N_USERS, N_ITEMS)) < 0.3, rng.integers(1, 6, (N_USERS, N_ITEMS)), np.nan)


def ratings(seed, epsilon, has_structure, **options):
    """A recommender of explicit or implicit ratings."""
    terms = {"epsilon": epsilon, "delta": 1e-6, "rating_range": (1, 5), "random_state": seed, **options}
    if has_structure:
        table = synthetic_ratings(N_USERS, N_ITEMS, seed=seed).table()
        return hr.PrivateCompletion(4, items=N_ITEMS, **terms).fit(table)
    data = chance_ratings(seed)
    if options.get("offsets") is False:
        data -= np.where(np.isnan(data), 0.0, 3.0)
        terms["rating_range"] = (-2, 2)
    return hr.PrivateCompletion(4, **terms).fit(data)


def representation(seed, epsilon, has_structure):
    """A representation of one direction too many, or of none."""
    data = shared_representation(3000, 10, 2, n_records=8, noise=0.3, seed=seed)
    y = data.y if has_structure else np.random.default_rng(seed).standard_normal(len(data.y))
    terms = {"epsilon": epsilon, "delta": 1e-6, "random_state": seed}
    return hr.PrivateRepresentation(3, **terms).fit(data.X, y, data.users)


def trace(seed, epsilon, has_structure):
    """A matrix of rank 1 that is asked for two, or none."""
    data = trace_records(6000, (8, 6), 1, seed=seed, design="rank_one")
    y = data.y if has_structure else np.random.default_rng(seed).standard_normal(len(data.y))
    terms = {"epsilon": epsilon, "delta": 1e-6, "random_state": seed, "design": "rank_one"}
    return hr.PrivateTraceRegression(2, **terms).fit(data.X, y)


def stream(seed, epsilon, has_structure, kind="full"):
    """A matrix of rank 1 that is asked for three, or zero."""
    rows, columns = np.indices((40, 30))
    sketch = hr.TurnstileSketch((40, 30), rank=3, epsilon=epsilon, delta=1e-6, kind=kind, random_state=seed)
    return sketch.update(rows.ravel(), columns.ravel(), np.full(rows.size, 1.0 if has_structure else 0.0)).factorize()


def signs(seed, epsilon, has_structure):
    """A large matrix of random signs, of which a sketch sees collisions, with a dense block or without."""
    rng, n = np.random.default_rng(seed), 1000
    rows, columns, deltas = rng.integers(0, n, 30_000), rng.integers(0, n, 30_000), rng.choice([-1.0, 1.0], 30_000)
    if has_structure:
        block = np.indices((60, 60)).reshape(2, -1)
        rows, columns = np.append(rows, np.tile(block[0], 20)), np.append(columns, np.tile(block[1], 20))
        deltas = np.append(deltas, np.ones(20 * 3600))
    sketch = hr.TurnstileSketch((n, n), rank=5, epsilon=epsilon, delta=1e-6, random_state=seed)
    return sketch.update(rows, columns, deltas).factorize()


# Name -> fit(seed, epsilon, has_structure), and how many factors, directions or singular values there are.
JOBS = {
    "complete": (ratings, 4),
    "complete, als": (lambda *terms: ratings(*terms, method="als"), 4),
    "complete, no offsets": (lambda *terms: ratings(*terms, offsets=False), 4),
    "complete, factored_gradient": (lambda *terms: ratings(*terms, method="factored_gradient"), 4),
    "complete, implicit": (lambda *terms: ratings(*terms, feedback="implicit"), 4),
    "personalize": (representation, 2),
    "trace": (trace, 1),
    "stream, full": (stream, 1),
    "stream, two_sketch": (lambda *terms: stream(*terms, kind="two_sketch"), 1),
    "stream, random signs": (signs, 1),
}


def run() -> list[str]:
    """A Markdown table with a line for every job and epsilon."""
    rows = []
    for name, (fit, n_true) in JOBS.items():
        for epsilon in (1.0, 8.0):
            alarms = sum(fit(seed, epsilon, False).n_significant_ > 0 for seed in range(REPEATS))
            found = [fit(seed, epsilon, True).n_significant_ for seed in range(REPEATS)]
            more = sum(count > n_true for count in found)
            rows.append(
                (
                    name,
                    f"{epsilon:g}",
                    f"{alarms} of {REPEATS}",
                    f"{more} of {REPEATS}",
                    f"{np.mean(found):.1f} of {n_true}",
                )
            )
    return table(("job", "epsilon", "alarms without structure", "more than there are, with structure", "found"), rows)


if __name__ == "__main__":
    measured = run()
    print("\n".join(measured))
    replace_section(TITLE, "python benchmarks/bench_marks.py", measured)
