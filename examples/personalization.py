"""Personalization: public embeddings, a private representation of what people have in common, and local heads.

You learn: the model is private for every user with all records; a head is computed by its user, from the public model
and a few own records, and is far better than what the user could learn alone; it never leaves the user.
"""

import tempfile
from pathlib import Path

import numpy as np

import hushrank as hr
from hushrank.evaluation.personal_baselines import fit_local_ridge
from hushrank.evaluation.synthetic import shared_representation

# Articles have public embeddings of 24 numbers, from any model you like. Every reader has rated eight of them, and what
# readers like varies along two directions only: that is what they can learn from each other. All of it is made up.
data = shared_representation(4000, 24, 2, n_records=8, noise=0.3, seed=1)
embeddings, ratings, readers = data.X, data.y, data.users

model = hr.PrivateRepresentation(n_components=2, epsilon=2.0, delta=1e-6)
print(model.plan(n_users=4000, n_features=24))  # no data yet: is the budget enough for so many readers?

model.fit(embeddings, ratings, readers)
print(f"private for one {model.privacy_.unit}: epsilon {model.privacy_.epsilon:.3f}, delta {model.privacy_.delta:g}")
is_above = bool(model.head_covariance_.any())  # else it is zero, and readers rely on their own ratings
print(f"gain of heads {model.gains_.max():.2f}, its noise {model.gain_deviation_:.3f}; above the noise: {is_above}")

with tempfile.TemporaryDirectory() as folder:  # what is published is one small file
    path = Path(folder, "readers.hush")
    model.save(path)
    public = hr.load(path)
    print(f"a file of {path.stat().st_size / 1000:.0f} kB")

# On the device of one reader: own ratings meet the public file. Nothing is charged, and nothing leaves the device.
mine = readers == 7
head = public.personalize(embeddings[mine], ratings[mine])
articles = np.random.default_rng(2).standard_normal((5, 24))  # embeddings of articles that the reader has not seen
best = int(head.predict(articles).argmax())
print(f"for reader 7, from {mine.sum()} own ratings: article {best} of 5 comes first")

# How good is that? The data are made up, so that the exact error of predictions for new articles is known.
heads = public.personalize(embeddings, ratings, readers)
alone = fit_local_ridge(embeddings, ratings, readers, 4000)
everybody = public.embedding_ @ public.head_mean_
print("mean squared error of a predicted rating")
for name, coef in (
    ("the mean of all readers", everybody),
    ("every reader alone", alone),
    ("private model, own head", heads.coef_),
    ("the truth", data.coef),
):
    print(f"  {name:24} {data.population_error(coef):.3f}")
