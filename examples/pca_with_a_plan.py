"""Private principal components, with a plan first.

You learn: a plan needs no data; `fit` does what the plan says; the components come with their guarantee.
"""

import hushrank as hr
from hushrank.evaluation.metrics import captured_variance
from hushrank.evaluation.synthetic import load_digits

# Public knowledge: there will be about 1800 images, and 64 pixels between 0 and 16 are never longer than 128. We take
# half of that as the bound, and longer rows are shortened.
pca = hr.PrivatePCA(n_components=5, row_norm=64.0, epsilon=1.0, delta=1e-6)
plan = pca.plan(n_samples=1800, n_features=64)

print("the plan, before any data are read")
for step in plan.steps:
    print(f"  {step.name}: {step.mechanism}")
for what, error in plan.forecast.items():
    print(f"  {what}: {error:.4g}")

X = load_digits()  # 1797 images of 64 pixels
pca.fit(X)

print("the fit")
print(f"  guarantee as planned: {pca.privacy_ == plan.guarantee}")
print(f"  epsilon {pca.privacy_.epsilon:.4f}, delta {pca.privacy_.delta:g}, one {pca.privacy_.unit} is hidden")

# Only the holder of the data can know this number: it is not private.
share = captured_variance(pca.components_, X.T @ X)
print(f"  captured: {share:.1%} of what the best {len(pca.components_)} components capture")
