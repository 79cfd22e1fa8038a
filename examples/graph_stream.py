"""A graph as a stream of edges that come and go: private communities and hubs, with one edge hidden.

You learn: a sketch takes insertions and deletions as they come, on several machines if need be; its factorization tells
groups and hubs; where the matrix fits the memory, `kind="full"` tells more at the same epsilon.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import svds
from sklearn.cluster import KMeans

import hushrank as hr
from hushrank.evaluation.turnstile_matrices import directed_graph

# Who writes to whom, made up: 2000 people in six departments, about 280 contacts each. Most are in the own department,
# some anywhere, and half of all people write to each of twenty hubs. Mistakes are deleted later: updates by -1.
N_PEOPLE, N_DEPARTMENTS, N_HUBS = 2000, 6, 20
stream = directed_graph(N_PEOPLE, N_DEPARTMENTS, degree=400, n_hubs=N_HUBS, seed=0)
shape = (N_PEOPLE, N_PEOPLE)


def departments(U, s, Vt):
    """Groups of people who write to the same places and hear from the same places, from six components."""
    s = s[:N_DEPARTMENTS]
    features = np.hstack([U[:, : len(s)] * s, Vt[: len(s)].T * s])
    return KMeans(N_DEPARTMENTS, n_init=4, random_state=0).fit_predict(features)


def describe(name, U, s, Vt):
    """How well planted departments and hubs are found; only who made up the data can tell."""
    if not s.any():  # all vectors are arbitrary then, and so would be the order of people
        print(f"  {name:22} nothing above the noise")
        return
    counts = np.zeros((N_DEPARTMENTS, N_DEPARTMENTS))
    np.add.at(counts, (stream.communities, departments(U, s, Vt)), 1)
    right = counts[linear_sum_assignment(counts, maximize=True)].sum() / N_PEOPLE
    letters = (U.sum(axis=0) * s) @ Vt  # column sums of the factorization: how many write to each
    top = np.argsort(letters)[-N_HUBS:]
    found = np.isin(top, stream.hubs).sum()
    print(f"  {name:22} {right:.1%} of people in their department, {found} of the {N_HUBS} hubs")


# The matrix has 4 million entries and fits the memory; were it larger, one would keep two sketches of it. Two machines
# see half of the stream each: their sum is the same, bit for bit, as if one had seen all of it.
full = hr.TurnstileSketch(shape, rank=10, epsilon=1.0, kind="full")
sketch = hr.TurnstileSketch(shape, rank=10, epsilon=1.0, sketch_sizes=(256, 512))
print(sketch.plan(n_updates=len(stream.rows)))  # no data yet: what can be seen at all?

for machine in (full, sketch):
    other = machine.new_shard()
    for number in range(0, len(stream.rows), 50_000):  # as updates arrive, in batches
        batch = slice(number, number + 50_000)
        (machine if number % 100_000 else other).update(stream.rows[batch], stream.columns[batch], stream.deltas[batch])
    machine.merge(other)

found, sketched = full.factorize(), sketch.factorize()
for each in (found, sketched):
    given = each.privacy_
    print(f"{each.kind}: epsilon {given.epsilon:g}, delta {given.delta:g}, one {given.unit} hidden")
    print(f"  singular values {' '.join(f'{value:.0f}' for value in each.s)}: six are clear")

graph = csr_matrix((stream.deltas, (stream.rows, stream.columns)), shape)
U, s, Vt = svds(graph, k=10, v0=np.ones(N_PEOPLE))
order = np.argsort(-s)
print("agreement with what was planted")
describe("without privacy", U[:, order], s[order], Vt[order])
describe("private, full", found.U, found.s, found.Vt)
describe("private, two sketches", sketched.U, sketched.s, sketched.Vt)
