"""What a release will do and promise, from public numbers alone: event, noise scales and guarantee.

Nothing here reads data. The same lattice functions plan and execute a release, so a plan cannot differ from the deed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hushrank.parameters import DEFAULT_N_MAX, check_integer
from hushrank.privacy import accountant
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Event, Gaussian, Repeated, to_dict, together
from hushrank.privacy.figures import at_least, at_most, show_event
from hushrank.privacy.guarantee import Budget, Guarantee, Neighbors
from hushrank.privacy.mechanisms.counts import counts_scale
from hushrank.privacy.mechanisms.exponential import ScoreLattice
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import GramLattice, gram_lattice
from hushrank.privacy.mechanisms.quantile import quantile_event, rank_scale
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice
from hushrank.privacy.mechanisms.vector import GaussianLattice, VectorLattice, vector_lattice
from hushrank.privacy.words import in_words, noise_in_words


@dataclass(frozen=True, slots=True)
class Step:
    """One release of a fit.

    Attributes
    ----------
    name : str
        What is released.
    mechanism : str
        In words.
    event : Event
        What will be executed and logged.
    scales : dict of str to float
        Noise scales in the units of the data.
    numerics : "exact" or "idealized"
        Whether the arithmetic of the release is covered by the guarantee.
    """

    name: str
    mechanism: str
    event: Event
    scales: dict[str, float]
    numerics: str = "exact"

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe description."""
        return {
            "name": self.name,
            "mechanism": self.mechanism,
            "event": to_dict(self.event),
            "scales": dict(self.scales),
            "numerics": self.numerics,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be released, and what all of it together promises.

    Attributes
    ----------
    steps : tuple of Step
        In the order of their execution.
    guarantee : Guarantee
        What all steps give together, at the budget's delta.
    forecast : dict of str to float
        Error to expect, from public numbers alone; empty where nobody asked for it.
    notes : tuple of str
        What somebody who plans this should know before it is charged, from public numbers alone.
    shares : dict of str to float
        What a budget that is handed out one release after another would be spent on, for the sizes of the plan.
    resources : dict of str to float
        Memory and time, where they were measured.
    expected : dict of str to float
        What the result may be expected to have, by name: how many factors or components, and how good they are.
    guesses : dict of str to float
        Public guesses that the forecast and what is expected rest on, stated or by default.
    """

    steps: tuple[Step, ...]
    guarantee: Guarantee
    forecast: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    resources: dict[str, float] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)
    guesses: dict[str, float] = field(default_factory=dict)

    @property
    def event(self) -> Event:
        """The whole plan as one event."""
        return together(step.event for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe description."""
        return {
            "steps": [step.to_dict() for step in self.steps],
            "event": to_dict(self.event),
            "guarantee": self.guarantee.to_dict(),
            "forecast": dict(self.forecast),
            "notes": list(self.notes),
            "shares": dict(self.shares),
            "resources": dict(self.resources),
            "expected": dict(self.expected),
            "guesses": dict(self.guesses),
        }

    def __str__(self) -> str:
        return "\n".join(f"{name:<{_WIDTH}}  {value}" for name, value in self.lines())

    def lines(self) -> Iterator[tuple[str, str]]:
        """Pairs of a name and a value, for people."""
        given = self.guarantee
        yield "what it promises", in_words(given)
        for step in self.steps:  # plain words first, terms second
            plain = noise_in_words(step.event, given.unit, given.bound)
            yield step.name, plain or step.mechanism
            if plain:
                yield "  mechanism", step.mechanism
            yield from ((f"  {name}", f"{value:.6g}") for name, value in step.scales.items())
            yield "  event", show_event(step.event)
        if self.shares:
            yield "shares of the budget", "for these sizes"
            yield from ((f"  {name}", f"{value:.1%}") for name, value in self.shares.items())
        yield "guarantee", f"epsilon = {at_most(given.epsilon)}, delta = {at_most(given.delta)}"
        within = "" if given.bound is None else f", within a bound of {at_least(given.bound)}"
        yield "neighbors", f"{given.neighbors.replace('_', ' or ')} one {given.unit}{within}"
        if given.premise:
            yield "provided that", given.premise
        yield "numerics", given.numerics
        if self.forecast:
            yield "forecast", "from public numbers and guesses" if self.guesses else "from public numbers alone"
            yield from ((f"  {name}", f"{value:.6g}") for name, value in self.forecast.items())
            yield from ((f"  expected: {name}", f"{value:.2f}") for name, value in self.expected.items())
        if self.guesses:
            yield "guesses", "public, for the forecast only"
            yield from ((f"  {name}", f"{value:g}") for name, value in self.guesses.items())
        if self.resources:
            yield "resources", "measured on one machine, good to a factor of two or so"
            yield from ((f"  {name}", f"{value:.3g}") for name, value in self.resources.items())
        yield from (("note", note) for note in self.notes)


_WIDTH = 52


def make_plan(budget: Budget, *steps: Step) -> Plan:
    """The plan of these releases, and what they give together: exact where the arithmetic of every step is."""
    event = together(step.event for step in steps)
    numerics = "exact" if all(step.numerics == "exact" for step in steps) else "idealized"
    return Plan(steps, accountant.guarantee(event, budget, numerics=numerics))


def plan_vector(budget: Budget, norm_bound: float, *, nonnegative: bool = False, n_max: int = DEFAULT_N_MAX) -> Plan:
    """Plan the release of a sum of vectors with L2 norm (delta > 0) or L1 norm (delta = 0) at most `norm_bound`."""
    lattice = vector_lattice(norm_bound, event_for(budget), budget.neighbors, nonnegative=nonnegative, n_max=n_max)
    return make_plan(budget, vector_step("sum of vectors", lattice))


def vector_step(name: str, lattice: VectorLattice) -> Step:
    """The release of a sum of vectors on `lattice`."""
    if isinstance(lattice, GaussianLattice):
        return Step(name, "Gaussian noise, L2 bound", lattice.event, {"standard deviation of an entry": lattice.scale})
    return Step(name, "Laplace noise, L1 bound", lattice.event, {"Laplace scale of an entry": lattice.scale})


def plan_gram(budget: Budget, row_norm: float, n_features: int, *, n_max: int = DEFAULT_N_MAX) -> Plan:
    """Plan the release of sum x x^T over rows of `n_features` entries with L2 norm at most `row_norm`."""
    d = check_integer(n_features, "n_features", "plan_gram", minimum=1)
    lattice = gram_lattice(row_norm, event_for(budget), budget.neighbors, n_max=n_max)
    return make_plan(budget, gram_step("second moment", lattice, d))


def gram_step(name: str, lattice: GramLattice, n_features: int) -> Step:
    """The release of a second moment of real or complex rows on `lattice`."""
    is_real = lattice.field is Field.REAL
    if isinstance(lattice, SymmetricLattice):
        mechanism = "symmetric Gaussian noise (GOE-shaped)" if is_real else "Hermitian Gaussian noise (GUE-shaped)"
        off_diagonal, extra = lattice.scale, {}
    else:
        mechanism = "two-sided Wishart noise" if is_real else "complex two-sided Wishart noise"
        off_diagonal, extra = lattice.entry_deviation(n_features), {"Wishart scale C": lattice.scale}
    # Real and imaginary parts have the same deviation; diagonal entries are real.
    off_name = "standard deviation off the diagonal" if is_real else "deviation of the real part off the diagonal"
    scales = {
        off_name: off_diagonal,
        "standard deviation on the diagonal": 2**0.5 * off_diagonal,
        **extra,
    }
    return Step(name, mechanism, lattice.event, scales)


def eigenvalues_step(name: str, lattice: ScoreLattice, n_values: int) -> Step:
    """The release of eigenvalues of a second moment."""
    scales = {"Laplace scale of an eigenvalue": lattice.laplace_scale(n_values)}
    return Step(name, "Laplace noise, L1 sensitivity", lattice.event, scales, "idealized")


def draw_step(name: str, mechanism: str, lattice: ScoreLattice, rank: int) -> Step:
    """Draws of the exponential mechanism with score <M, H>, H a projection of this rank or a multiple of one."""
    scales = {"temperature 1/c of the score": 1.0 / lattice.rate([1.0] * rank)}
    return Step(name, mechanism, lattice.event, scales, "idealized")


def plan_counts(budget: Budget, n_cells: int, *, max_cells: int = 1) -> Plan:
    """Plan the release of `n_cells` counts of which one person adds to at most `max_cells`."""
    return make_plan(budget, counts_step("counts", n_cells, event_for(budget), budget.neighbors, max_cells=max_cells))


def counts_step(name: str, n_cells: int, event: Event, neighbors: Neighbors, *, max_cells: int = 1) -> Step:
    """The release of integer counts."""
    scale = counts_scale(n_cells, event, neighbors, max_cells=max_cells)
    kind, law = ("standard deviation", "Gaussian") if isinstance(event, Gaussian) else ("Laplace scale", "Laplace")
    return Step(name, f"{law} noise, rounded to integers", event, {f"{kind} of a count": scale})


def plan_quantile(budget: Budget, probability: float, n_grid: int) -> Plan:
    """Plan the release of a quantile on a public grid of `n_grid` points."""
    event = quantile_event(event_for(budget), n_grid)
    return make_plan(budget, quantile_step("quantile", event, probability, budget.neighbors))


def quantile_step(name: str, event: Repeated, probability: float, neighbors: Neighbors) -> Step:
    """The release of a quantile by noisy binary search; the event is made by `quantile_event`."""
    scale = rank_scale(probability, event, neighbors)
    kind = "standard deviation" if isinstance(event.event, Gaussian) else "Laplace scale"
    scales = {f"{kind} of a rank, each step (people)": scale}
    return Step(name, f"noisy binary search, {event.count} steps", event, scales)
