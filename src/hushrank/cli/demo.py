"""`hushrank demo`: private recommenders from built-in ratings at several guarantees, a report, and a page of one."""

import shutil
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy.sparse
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hushrank.archive.container import check_writable
from hushrank.cli.accounts import is_given
from hushrank.cli.writing import FORCE_OPTION, check_new, resolve, write_text
from hushrank.data.ratings.reading import read_ratings
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.baselines import fit_em
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import SyntheticRatings, synthetic_ratings
from hushrank.report.recommender import Fit, Person, Results, recommender_page
from hushrank.web.page import export_web

N_USERS, N_ITEMS, RANGE, RANK, DELTA = 6000, 800, (1.0, 5.0), 8, 1e-6
EPSILONS, SHOWN_EPSILON = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0), 5.0
HELD_OUT, SEED = 0.1, 1  # the seed makes the ratings; noise is fresh in every run
REFERENCE_ITERATIONS = 10
SHOWN, MOST_OWN_RATINGS = 5, 40
PAGE_NAME = "Made-up films"
FIRST_WORDS = (
    "Amber",
    "Autumn",
    "Blue",
    "Broken",
    "Crimson",
    "Distant",
    "Electric",
    "Empty",
    "Fallen",
    "First",
    "Forgotten",
    "Frozen",
    "Gentle",
    "Golden",
    "Hidden",
    "Hollow",
    "Last",
    "Little",
    "Long",
    "Lost",
    "Midnight",
    "Paper",
    "Quiet",
    "Red",
    "Restless",
    "Second",
    "Secret",
    "Silver",
    "Stolen",
    "Velvet",
    "Wandering",
    "Wild",
)
SECOND_WORDS = (
    "Bridge",
    "Circus",
    "City",
    "Coast",
    "Garden",
    "Harbor",
    "Heart",
    "Island",
    "Kingdom",
    "Letter",
    "Lighthouse",
    "Mirror",
    "Mountain",
    "Night",
    "Orchard",
    "Promise",
    "River",
    "Road",
    "Season",
    "Song",
    "Stranger",
    "Summer",
    "Train",
    "Voyage",
    "Winter",
)


@click.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("hushrank-demo.html"),
    show_default=True,
    help="Report to write: one HTML file. That of an earlier demo, under this name, is replaced.",
)
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("hushrank-demo-recommender.html"),
    show_default=True,
    help="Page to write with the recommender inside, to try it. That of an earlier demo, under this name, is replaced.",
)
@FORCE_OPTION
def command(out: Path, page: Path, force: bool) -> None:
    """A private recommender from built-in ratings: a report, and a page to try.

    The page holds the recommender itself, and recommends in your browser. The ratings are made up: 6000 users, 800
    items. Every line of the table is a fresh private fit with exact noise, compared on held-out ratings with the
    same model learned without privacy. Takes about a minute.
    """
    for name, place in (("out", out), ("page", page)):
        check_writable(place)
        check_new(f"--{name}", place, force=force or not is_given(name))
    if resolve(out) == resolve(page):
        raise click.UsageError("--out and --page are two files.")
    console = Console(highlight=False)
    with console.status("making ratings ...") as status:
        results, model = measure(lambda text: status.update(f"{text} ..."))
    write_text(recommender_page(results), out)
    export_web(model, page, titles=made_up_titles(len(model.items_)), name=PAGE_NAME)
    console.print(to_table(results))
    console.print(EXPLANATION.format(results=results, delta=DELTA))
    console.print(to_recommendations(results))
    console.print(f"Report written to [bold]{escape(str(out))}[/bold]: open it in a browser.", soft_wrap=True)
    console.print(
        f"The recommender itself is in [bold]{escape(str(page))}[/bold]: open it, rate a few films, and see what it "
        "recommends. Your ratings stay in the page.",
        soft_wrap=True,
    )
    console.print(NEXT, soft_wrap=True)
    if shutil.which("hushrank") is None:
        console.print(ON_PATH.format(folder=escape(str(Path(sys.executable).parent))), soft_wrap=True)


def measure(tell: Any) -> tuple[Results, Any]:
    """Fit at every guarantee and measure errors on held-out ratings; `tell` is called with what happens next.

    Gives the results, and the model at the guarantee that is shown.
    """
    ratings = synthetic_ratings(N_USERS, N_ITEMS, seed=SEED)
    train, test = ratings.split(HELD_OUT, seed=SEED)
    models, fits = {}, []
    for epsilon in EPSILONS:
        tell(f"learning at epsilon = {epsilon:g}")
        models[epsilon], fit = fit_and_measure(train, test, epsilon)
        fits.append(fit)
    tell("learning without privacy")
    shown = models[SHOWN_EPSILON]
    results = Results(
        n_users=N_USERS,
        n_items=N_ITEMS,
        n_ratings=len(ratings.users),
        n_held_out=len(test.users),
        rank=RANK,
        fits=fits,
        constant_error=root_mean_squared_error(np.full(len(test.users), train.ratings.mean()), test.ratings),
        reference_error=reference_error(train, test),
        shown=fits[EPSILONS.index(SHOWN_EPSILON)],
        plan=shown.plan((N_USERS, N_ITEMS)),
        popular=top_items(shown.items_, shown.item_counts_),
        best=top_items(shown.items_, shown.item_means_),
        person=ask_for_one(shown, train, test),
    )
    return results, shown


def fit_and_measure(train: SyntheticRatings, test: SyntheticRatings, epsilon: float) -> tuple[Any, Fit]:
    """A private model and its errors."""
    model = PrivateCompletion(RANK, epsilon=epsilon, delta=DELTA, rating_range=RANGE, items=N_ITEMS)
    low, high = model.plan((N_USERS, N_ITEMS)).forecast.values()
    model.fit(train.table())
    error = root_mean_squared_error(model.predict_ratings(train.table(), test.table()), test.ratings)
    means_error = root_mean_squared_error(np.clip(model.item_means_, *RANGE)[test.items], test.ratings)
    return model, Fit(epsilon, model.privacy_, (low, high), error, means_error, model.n_factors_)


def reference_error(train: SyntheticRatings, test: SyntheticRatings) -> float:
    """Error of the same kind of model without privacy."""
    matrix = scipy.sparse.csr_array((train.ratings, (train.users, train.items)), shape=(N_USERS, N_ITEMS))
    (block,) = read_ratings(matrix, owner="demo", rating_range=RANGE).blocks()
    scaled = fit_em(block, N_ITEMS, RANK, REFERENCE_ITERATIONS).predict(block, test.users, test.items)
    middle, half = (RANGE[0] + RANGE[1]) / 2, (RANGE[1] - RANGE[0]) / 2
    return root_mean_squared_error(middle + half * scaled, test.ratings)


def made_up_titles(n_items: int) -> list[str]:
    """Titles of films that do not exist; beyond the first they have numbers.

    Examples
    --------
    >>> made_up_titles(801)[::400]
    ['The Amber Bridge', 'The Last Mountain', 'The Amber Bridge 2']
    """
    n_first, n_all = len(FIRST_WORDS), len(FIRST_WORDS) * len(SECOND_WORDS)
    titles = []
    for j in range(n_items):
        again, place = divmod(j, n_all)
        number = f" {again + 1}" if again else ""
        titles.append(f"The {FIRST_WORDS[place % n_first]} {SECOND_WORDS[place // n_first]}{number}")
    return titles


def top_items(ids: Any, numbers: Any) -> list[tuple[int, float]]:
    """The items with the largest numbers."""
    order = np.argsort(-numbers, kind="stable")[:SHOWN]
    return [(int(ids[j]), float(numbers[j])) for j in order]


def ask_for_one(model: Any, train: SyntheticRatings, test: SyntheticRatings) -> Person:
    """Recommendations for a user with few ratings that differ much, some of them held out."""
    n_own, n_held_out = (np.bincount(part.users, minlength=N_USERS) for part in (train, test))
    first, second = (np.bincount(train.users, train.ratings**power, N_USERS) for power in (1, 2))
    spread = second - first**2 / np.maximum(n_own, 1)
    user = int(np.where((n_own <= MOST_OWN_RATINGS) & (n_held_out >= SHOWN), spread, -1.0).argmax())
    own, hidden = ({i: r for i, r in _of(part, user)} for part in (train, test))
    top = model.recommend(own, n=SHOWN)
    predicted = model.predict(own, items=list(hidden))
    return Person(
        list(own.items()),
        list(zip(top.items.tolist(), top.scores.tolist(), strict=True)),
        [(item, float(p), given) for (item, given), p in zip(hidden.items(), predicted, strict=True)],
    )


def _of(part: SyntheticRatings, user: int) -> list[tuple[int, float]]:
    rows = np.flatnonzero(part.users == user)
    return sorted(zip(part.items[rows].tolist(), part.ratings[rows].tolist(), strict=True))


def to_table(results: Results) -> Table:
    """Errors at every guarantee."""
    table = Table(
        title=f"a private recommender: {results.n_ratings:,} ratings, {results.n_users:,} users, "
        f"{results.n_items:,} items",
        title_justify="left",
    )
    for name in ("epsilon", "factors", "forecast", "item means", "private", "ratio"):
        table.add_column(name, justify="right", no_wrap=True)
    for fit in results.fits:
        band = f"{fit.forecast[0]:.2f} to {fit.forecast[1]:.2f}"
        errors = [f"{fit.means_error:.3f}", f"{fit.error:.3f}", f"{fit.error / results.reference_error:.3f}"]
        is_last = fit is results.fits[-1]
        table.add_row(f"{fit.epsilon:g}", str(fit.n_factors), band, *errors, end_section=is_last)
    table.add_row("inf", "", "", "", f"{results.reference_error:.3f}", "1")
    return table


def to_recommendations(results: Results) -> Table:
    """What one user is recommended, beside held-out ratings and their predictions."""
    person = results.person
    table = Table(
        title=f"for one made-up user with {len(person.ratings)} ratings, at epsilon = {results.shown.epsilon:g}",
        title_justify="left",
    )
    for name in ("recommended", "predicted", "held out", "predicted", "given"):
        table.add_column(name, justify="left" if name in ("recommended", "held out") else "right")
    for i in range(SHOWN):
        cells = ["", "", "", "", ""]
        if i < len(person.recommended):
            cells[:2] = f"item {person.recommended[i][0]}", f"{person.recommended[i][1]:.2f}"
        if i < len(person.held_out):
            item, predicted, given = person.held_out[i]
            cells[2:] = f"item {item}", f"{predicted:.2f}", f"{given:g}"
        table.add_row(*cells)
    return table


EXPLANATION = """\
Root mean squared error on {results.n_held_out:,} held-out ratings from 1 to 5; one number for everything: \
{results.constant_error:.3f}.
[bold]forecast[/bold]: for usual rating data, known before any data are read.
[bold]item means[/bold]: error of the released item means alone.
[bold]private[/bold]: error of the private recommender, and its [bold]ratio[/bold] to that without privacy (inf).
Guarantee: delta = {delta:g}; neighbors replace all ratings of one user. Noise is drawn and rounded exactly.
"""
NEXT = """
Next: [bold]hushrank complete --help[/bold] for your own ratings, and [bold]hushrank plan complete --users 6000 \
--items 800 --rank 8 --rating-range 1 5 --epsilon 1 --delta 1e-6[/bold] to see what it would cost."""
ON_PATH = """\
Your shell does not find hushrank yet: [bold]export PATH="{folder}:$PATH"[/bold] lets it."""
