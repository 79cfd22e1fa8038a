"""What a sketch would do to updates, told to the data holder before anything is added or charged. NOT PRIVATE."""

from typing import Any

from hushrank.data.findings import Check, Finding
from hushrank.data.updates.checking import look_at_updates
from hushrank.data.updates.reading import read_updates
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.resources import stream_resources
from hushrank.privacy.cautions import budget_cautions
from hushrank.privacy.charging import findings_of


def check_updates(sketch: TurnstilePlanner, rows: Any, cols: Any, deltas: Any, users: Any) -> Check:
    """Read all updates once, with the parameters of a sketch, whose state is neither made nor looked at."""
    owner, budget = type(sketch).__name__, sketch._check_parameters()
    cautions = list(budget_cautions(budget))
    sketch.plan(n_updates=1)  # refuses what the sketch would refuse
    needs_users = sketch._counts_users
    updates = read_updates(rows, cols, deltas, users, shape=sketch._shape, owner=owner, needs_users=needs_users)
    look = look_at_updates(updates, sketch._clip, skips=sketch.on_invalid == "skip")
    plan = sketch.plan(n_updates=max(look.counts["n_updates"], 1))
    findings = [*look.findings, *(Finding("warning", "caution", text) for text in cautions)]
    findings += [Finding(*told) for told in findings_of(sketch.ledger, plan.event, budget, sketch._unit)]
    findings += [Finding("note", "plan", text) for text in plan.notes if text not in cautions]
    work = sketch._work(sketch._plan(budget, {}))
    return Check(owner, look.counts, tuple(findings), stream_resources(work, look.counts["n_updates"]))
