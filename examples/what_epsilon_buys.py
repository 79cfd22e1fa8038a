"""What a guarantee costs, before there are any data.

You learn: plans and forecasts come from public numbers alone, so that epsilon can be chosen before anybody looks at
the data. A direction of the data shows in the result once its variance is above the forecast.
"""

import hushrank as hr

EPSILONS = (0.1, 0.3, 1.0, 3.0)
ROWS = (1_000, 10_000, 100_000)
NEEDED = "variance a direction needs to show, over radius^2"


def threshold(epsilon: float, delta: float, n_samples: int) -> float:
    """Variance that a direction of 50 columns must have, in squares of the radius to which rows are shortened."""
    pca = hr.PrivatePCA(n_components=3, row_norm=100.0, epsilon=epsilon, delta=delta)
    forecast: dict[str, float] = pca.plan(n_samples=n_samples, n_features=50).forecast
    return forecast[NEEDED]


print("variance a direction needs to show, over the squared radius of the rows; all directions together have at most 1")
for delta in (0.0, 1e-6):
    print(f"\ndelta = {delta:g}".ljust(16), *(f"{n:>9,} rows" for n in ROWS))
    for epsilon in EPSILONS:
        print(f"epsilon = {epsilon:<5g}", *(f"{threshold(epsilon, delta, n):14.5f}" for n in ROWS))

print("\nroot mean squared error of a recommender: 10,000 users, 1,000 items, ratings 1 to 5, delta = 1e-06")
for epsilon in EPSILONS:
    model = hr.PrivateCompletion(rank=8, epsilon=epsilon, delta=1e-6, rating_range=(1, 5), items=1000)
    plan = model.plan(n_users=10_000, n_items=1000)
    best, worst = plan.forecast.values()
    factors = plan.expected["factors"]
    print(f"epsilon = {epsilon:<5g} from {best:.3f} for kind data to {worst:.3f} for hard ones, {factors:.1f} factors")
