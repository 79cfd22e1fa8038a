"""Bilinear regression from a table: an answer that depends on pairs of features, with every record hidden.

You learn: two groups of columns and a target are all it takes; the plan tells beforehand whether the records are
enough; predictions are about as good as without privacy; where they cannot be, the model says so.
"""

import numpy as np
import pyarrow as pa

import hushrank as hr
from hushrank.evaluation.trace_baselines import trace_regression_without_privacy
from hushrank.evaluation.trace_data import trace_records

FIELD, TREATMENT = ["ph", "clay", "rain", "slope", "sun"], ["nitrogen", "phosphate", "potash", "lime"]
N_KNOWN, N_NEW = 30_000, 2_000

# Each farmer tells about one field and one treatment, and how large the harvest was. All of it is made up.
data = trace_records(N_KNOWN + N_NEW, (5, 4), 2, design="rank_one", noise=0.7, seed=4)
columns = dict(zip(FIELD + TREATMENT, np.hstack(data.X).T, strict=True)) | {"harvest": 40.0 + data.y}
table = pa.table(columns)
known, new = table[:N_KNOWN], table[N_KNOWN:]

model = hr.PrivateTraceRegression(2, epsilon=1.0, delta=1e-6, design="rank_one", shape=(5, 4), y_scale=10.0)
print(model.plan(n_samples=N_KNOWN))  # no data yet

model.fit(known, "harvest")
print(f"private for one {model.privacy_.unit}: epsilon {model.privacy_.epsilon:.3f}, delta {model.privacy_.delta:g}")
print(f"net share of records that the matrix predicts better: {model.gain_:.2f}, its noise {model.gain_deviation_:.4f}")
i, j = np.unravel_index(np.abs(model.coef_).argmax(), model.coef_.shape)
print(f"the strongest pair: {FIELD[i]} with {TREATMENT[j]}, {model.coef_[i, j]:+.2f}")

# How good is that? On harvests nobody has seen, beside the mean harvest and the same regression without privacy.
x, z = (np.column_stack([known[name] for name in names]) for names in (FIELD, TREATMENT))
mean = float(np.mean(known["harvest"]))
best = trace_regression_without_privacy((x, z), np.asarray(known["harvest"]) - mean, "rank_one", (5, 4), 2)
truth = np.asarray(new["harvest"])
new_x, new_z = (np.column_stack([new[name] for name in names]) for names in (FIELD, TREATMENT))
print("root mean squared error of a predicted harvest")
for name, predicted in (
    ("the mean harvest", np.full(N_NEW, mean)),
    ("private", model.predict(new)),
    ("without privacy", mean + np.einsum("ia,ab,ib->i", new_x, best, new_z)),
):
    print(f"  {name:18} {np.sqrt(np.mean((truth - predicted) ** 2)):.3f}")
