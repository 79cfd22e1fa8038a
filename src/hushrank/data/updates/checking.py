"""What a sketch would do to updates: which are outside, not finite, without a user, or clipped. NOT PRIVATE."""

import numpy as np

from hushrank.data.findings import Finding, Look, share
from hushrank.data.records.checking import say_outside
from hushrank.data.updates.source import Updates, has_user

MANY = 0.1  # share of updates that are clipped, from which on it is a warning


def look_at_updates(updates: Updates, clip: float | None, *, skips: bool = False) -> Look:
    """Read all updates once, and count.

    Parameters
    ----------
    updates : Updates
    clip : float or None
        Largest magnitude of an update.
    skips : bool
        Whether invalid updates are left out; otherwise they end a run.

    Examples
    --------
    >>> from hushrank.data.updates.reading import read_updates
    >>> updates = read_updates([0, 3, 0], [1, 1, 0], [0.5, 1.0, -2.0], shape=(3, 4), owner="example")
    >>> [finding.name for finding in look_at_updates(updates, clip=1.0).findings]
    ['outside_matrix', 'clipped_updates']
    """
    n_read = n_outside = n_not_finite = n_nobody = n_clipped = 0
    smallest, largest, size = np.full(2, np.inf), np.full(2, -np.inf), 0.0
    for chunk in updates.chunks():
        places = np.column_stack([chunk.rows, chunk.columns])
        inside = ((places >= 0) & (places < updates.shape)).all(axis=1)
        finite = np.isfinite(chunk.deltas)
        sizes = np.abs(chunk.deltas[inside & finite])
        n_read, n_outside = n_read + len(chunk), n_outside + int((~inside).sum())
        n_not_finite += int((inside & ~finite).sum())
        n_nobody += 0 if chunk.users is None else int((~has_user(chunk.users)).sum())
        n_clipped += 0 if clip is None else int((sizes > clip).sum())
        smallest, largest = np.minimum(smallest, places.min(axis=0)), np.maximum(largest, places.max(axis=0))
        size = max(size, float(sizes.max(initial=0.0)))
    findings = []
    level = "warning" if skips else "problem"
    if n_read == 0:
        findings.append(Finding("warning", "no_updates", "there is no update"))
    if n_outside:
        found = say_outside(n_outside, n_read, smallest, largest, updates.shape, "updates")
        findings.append(
            Finding(level if found.level == "warning" else found.level, found.name, found.text, found.numbers)
        )
    ending = "are left out" if skips else "end the run (--on-invalid skip leaves them out)"
    for name, number, words in (
        ("updates_not_finite", n_not_finite, "are no finite numbers"),
        ("updates_without_user", n_nobody, "have no user"),
    ):
        if number:
            text = f"{number:,} of {n_read:,} updates ({share(number, n_read)}) {words} and {ending}"
            findings.append(Finding(level, name, text, {name: number, "updates": n_read}))
    if n_clipped:
        text = (
            f"{n_clipped:,} of {n_read:,} updates ({share(n_clipped, n_read)}) are larger than {clip:g} and would be "
        )
        level = "warning" if n_clipped > MANY * n_read else "note"
        numbers = {"clipped_updates": n_clipped, "updates": n_read, "largest": size}
        findings.append(Finding(level, "clipped_updates", f"{text}clipped; the largest has {size:.4g}", numbers))
    return Look({"n_updates": n_read, "n_rows": updates.shape[0], "n_columns": updates.shape[1]}, findings)
