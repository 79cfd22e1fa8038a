"""A private recommender: fit, recommend for one person, save and load.

You learn: the model is private for every user with all ratings; recommendations are made from the public model and one
person's own ratings, also for people who were not in the data; a file holds the model with its guarantee.
"""

import tempfile
from pathlib import Path

import hushrank as hr
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import synthetic_ratings

known, held_out = synthetic_ratings(2000, 100, seed=1).split(0.1, seed=2)  # made-up people, ratings 1 to 5

# The catalogue and the range are public: neither may be read off the ratings.
model = hr.PrivateCompletion(rank=4, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=100).fit(known.table())
print(f"private for one {model.privacy_.unit}: epsilon {model.privacy_.epsilon:.3f}, delta {model.privacy_.delta:g}")

predicted = model.predict_ratings(known.table(), held_out.table())
error, spread = root_mean_squared_error(predicted, held_out.ratings), held_out.ratings.std()
print(f"error of held-out ratings: {error:.2f}, of the best single number for all {spread:.2f}")

own_ratings = {7: 5.0, 12: 1.0, 30: 4.0}  # somebody who comes along; this never enters the model
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "recommender.hush")
    model.save(path)
    loaded = hr.load(path)
    print(f"a file of {path.stat().st_size // 1000} kB")

top = loaded.recommend(own_ratings, n=3)
for item, score in zip(top.items, top.scores, strict=True):
    print(f"  item {item}: predicted rating {score:.1f}")
print(f"the same after loading: {(top.items == model.recommend(own_ratings, n=3).items).all()}")
