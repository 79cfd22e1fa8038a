"""Private principal components, with a plan first.

You learn: a plan needs no data and shows what the budget buys; `fit` does what the plan says; the components come with
their guarantee, and with numbers that say how sure each of them is.
"""

import hushrank as hr
from hushrank.evaluation.metrics import captured_variance
from hushrank.evaluation.synthetic import load_digits

# Public knowledge: there will be about 1800 images, and 64 pixels between 0 and 16 are never longer than 128. A loose
# bound will do: to what length rows are shortened, and around what center, is found privately.
pca = hr.PrivatePCA(n_components=5, row_norm=128.0, center="private", epsilon=1.0, delta=1e-6)
plan = pca.plan(n_samples=1800, n_features=64)

print("the plan, before any data are read")
for name, share in plan.shares.items():
    print(f"  {share:5.1%} of the budget: {name}")
for what, error in plan.forecast.items():
    print(f"  {what}: {error:.4g}")
for note in plan.notes:
    print(f"  note: {note}")

X = load_digits()  # 1797 images of 64 pixels
pca.fit(X)

print("the fit")
print(f"  guarantee as planned: {pca.privacy_ == plan.guarantee}")
print(f"  epsilon {pca.privacy_.epsilon:.4f}, delta {pca.privacy_.delta:g}, one {pca.privacy_.unit} is hidden")
print(f"  rows were shortened to {pca.radius_:.1f} around the center")
print(f"  above the noise: {pca.n_significant_} of {len(pca.components_)} components")
for i, (alignment, (low, high)) in enumerate(zip(pca.alignment_, pca.explained_variance_interval_, strict=True)):
    print(f"  component {i + 1}: variance {low:.0f} to {high:.0f}, alignment with the true direction {alignment:.2f}")

# Only the holder of the data can know this number: it is not private.
centered = X - X.mean(axis=0)
share = captured_variance(pca.components_, centered.T @ centered)
print(f"  captured: {share:.1%} of what the best {len(pca.components_)} components capture")
