"""A private covariance matrix, paid for out of a ledger, and what a refusal looks like.

You learn: a ledger holds one budget for everything that is ever released about a data set; a fit pays before it reads
the data; what is no longer there cannot be spent, and a refused fit leaves nothing behind.
"""

import tempfile
from pathlib import Path

import hushrank as hr
from hushrank.evaluation.synthetic import power_law_rows
from hushrank.exceptions import BudgetExceeded

X = power_law_rows(5000, 10, seed=0)  # rows no longer than 1

with tempfile.TemporaryDirectory() as folder, hr.Ledger(Path(folder, "budget.db")) as ledger:
    account = ledger.create("patients-2026", epsilon=1.5)  # fixed for life: no cap is ever raised

    first = hr.PrivateCovariance(row_norm=1.0, epsilon=1.0, ledger=account).fit(X)
    error = abs(first.covariance_ - X.T @ X / len(X)).max()  # not private: it is computed from the data
    print(f"first fit: largest error of an entry {error:.4f}")
    print(f"spent {account.spent().epsilon:g}, left {account.left().epsilon:g}")

    second = hr.PrivateCovariance(row_norm=1.0, epsilon=1.0, ledger=account)
    try:
        second.fit(X)
    except BudgetExceeded as refusal:
        print(f"second fit: {refusal}")
    print(f"learned nothing: {not hasattr(second, 'covariance_')}, left {account.left().epsilon:g}")

    third = hr.PrivateCovariance(row_norm=1.0, epsilon=0.5, ledger=account).fit(X)
    print(f"third fit: epsilon {third.privacy_.epsilon:g}, left {account.left().epsilon:g}")
    print("history:", *(f"{entry.number} {entry.note or 'created'}" for entry in account.history()), sep="\n  ")
