"""`hushrank statement`: a privacy statement of a model or a ledger for people outside, and its verification."""

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from hushrank.cli.accounts import is_given, ledger_files
from hushrank.cli.options import JSON_OPTION, options
from hushrank.cli.statement_sources import file_sha256, files_of, is_hash, is_mistyped_hash, kind_of, shown
from hushrank.cli.tables import printable
from hushrank.cli.writing import FORCE_OPTION, check_place, resolve, write_result
from hushrank.exceptions import InvalidParameter, LedgerError, StatementError
from hushrank.registry import find

DEFAULT_OUT = "statement.yaml"

SHOWN_EVENTS = 10

PUBLISHER = {
    "name": "Name of what is published.",
    "curator": "Who publishes it.",
    "use": "What it is meant for.",
    "product_type": "What sort of product it is. Default: what hushrank knows of it.",
    "product": "What it is, in a sentence. Default: what hushrank knows of it.",
    "date": "Day of publication, YYYY-MM-DD.",
    "url": "Where there is more about it.",
    "author": "Who made the statement.",
    "population": "Whose data they are.",
    "actors": "Who takes part, and who sees what.",
    "preparation": "What was done to the data, or learned from them, before; how parameters were chosen.",
    "justification": "Why these choices.",
}
"""What only the publisher knows, by the options that ask for it."""

_ASKED_BY = {
    "name": "deployment.short_name",
    "curator": "deployment.data_curator",
    "use": "deployment.intended_use",
    "date": "deployment.publication_date",
    "url": "deployment.additional_information_url",
    "author": "registry_author",
    "population": "deployment.dp_flavor.data_domain",
    "actors": "deployment.model.actors",
    "preparation": "deployment.implementation.pre_processing_eda_hyperparameter_tuning",
    "justification": "deployment.implementation.justification",
}
"""Fields that say `not stated` without their option."""

PUBLISHER_OPTIONS = options(
    *(
        click.option(f"--{name.replace('_', '-')}", name, metavar="TEXT", default="", help=help)
        for name, help in PUBLISHER.items()
    )
)


@click.command("statement")
@click.argument("source", metavar="SOURCE", type=click.Path())
@options(
    click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        default=DEFAULT_OUT,
        show_default=True,
        help="Statement to write, as YAML.",
    ),
    click.option(
        "--html",
        "page",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Page to write, for readers who are no experts. Default: NAME-statement.html beside --out NAME.yaml; of a "
        "statement none.",
    ),
    FORCE_OPTION,
    PUBLISHER_OPTIONS,
    click.option("--dataset", help="Name of the data set, where the ledger has several."),
    click.option(
        "--without-notes",
        is_flag=True,
        help="Of a ledger: leave out keys, notes and times of charges. Its hashes can then be compared with the "
        "ledger alone.",
    ),
    click.option(
        "--against",
        metavar="SOURCE_OR_HASH",
        help="Compare a statement with its model or ledger, or with a hash that was published elsewhere.",
    ),
    JSON_OPTION,
)
def command(source: str, as_json: bool, **given: Any) -> None:
    """Write a privacy statement of a model or a ledger, or verify one.

    A statement is for people outside, who have neither the data nor hushrank. SOURCE is a model file, a ledger (a file
    or a database URL), or a statement. Of a model or a ledger a statement is written as YAML, with the fields of the
    public registry of deployments of differential privacy, and a page for readers who are no experts. A statement is
    read and verified: its hash, and that its numbers are those of its record. Nothing is charged, and nothing is read
    but these files. What only the publisher knows is asked for by options, or can be filled in in the file; what nobody
    said is marked as not stated.

    \b
    Examples:
      hushrank statement model.hush --name "Film recommender" --curator "City library" --date 2026-11-18
      hushrank statement budget.db --dataset visits-2026 --out visits.yaml --html visits.html
      hushrank statement statement.yaml --against model.hush
    """
    kind = kind_of(source)
    if kind == "statement":
        _verify(source, given, as_json=as_json)
    else:
        _write(source, kind, given, as_json=as_json)


def _write(source: str, kind: str, given: dict[str, Any], *, as_json: bool) -> None:
    from hushrank.report.statement_file import to_yaml  # --help needs none of it
    from hushrank.report.statement_page import statement_page

    _refuse(given, ["against"], "--against is for a statement, and this is a {0}.", kind)
    if kind == "model":
        _refuse(given, ["dataset", "without_notes"], "{1} is for a ledger, and this is a model.", kind)
    places = {"--out": given["out"], "--html": given["page"] or page_beside(given["out"])}
    if resolve(places["--out"]) == resolve(places["--html"]):
        raise click.UsageError("--out and --html name one file.")
    kept = [Path(source)] if kind == "model" else ledger_files(source)
    for option, place in places.items():
        check_place(option, place, kept, f"the {kind}", force=given["force"])
    statement = make(source, kind, given)
    texts = (to_yaml(statement), statement_page(statement, _name(places["--out"])))
    for place, text in zip(places.values(), texts, strict=True):
        write_result(text, place, force=given["force"])
    if as_json:
        written = {"statement": str(places["--out"]), "page": str(places["--html"])}
        click.echo(json.dumps({**written, **statement.to_dict(), "not_stated": statement.not_stated}))
        return
    _echo(f"statement written to {places['--out']}", f"page written to {places['--html']}", *say(statement))
    _echo(*say_how(statement))
    if kind == "ledger" and not given["without_notes"]:
        click.echo(f"hushrank: {_NOTED}", err=True)


def page_beside(out: Path) -> Path:
    """Where a page goes that nobody named: beside its statement, and not in the place of a page of something else."""
    stem = out.stem if out.suffix in (".yaml", ".yml") else out.name
    return out.with_name(f"{stem}.html" if stem.endswith("statement") else f"{stem}-statement.html")


def make(source: str, kind: str, given: dict[str, Any]) -> Any:
    """The statement of a model file or a ledger, with what the publisher says."""
    from hushrank.report.statement import ledger_statement, model_statement
    from hushrank.report.statement_fields import Publisher

    try:
        publisher = Publisher(**{line.name: given[line.name] for line in fields(Publisher)})
    except InvalidParameter as error:
        raise click.UsageError(f"--{error.name.replace('_', '-')} must be {error.requirement}.") from error
    if kind == "model":
        return model_statement(find("load")(source), publisher, file_sha256=file_sha256(source))
    with find("Ledger")(source) as ledger:
        account = ledger[given["dataset"] or _only_name(ledger)]
        return ledger_statement(account, publisher, with_notes=not given["without_notes"])


def _only_name(ledger: Any) -> str:
    names: list[str] = ledger.names()
    if len(names) != 1:
        listed = ", ".join(map(printable, names)) or "it has none"
        raise click.UsageError(f"--dataset must name a data set of the ledger: {listed}.")
    return names[0]


def _verify(source: str, given: dict[str, Any], *, as_json: bool) -> None:
    from hushrank.report.statement_file import read_statement
    from hushrank.report.statement_page import statement_page

    others = [*PUBLISHER, "out", "dataset", "without_notes"]
    _refuse(given, others, "{1} is for a model or a ledger; edit the statement itself.", "statement")
    page, other = given["page"] if is_given("page") else None, given["against"]
    if page is not None:
        check_place("--html", page, files_of(other), "what is compared", force=True)
        check_place("--html", page, [Path(source)], "the statement", force=given["force"])
    statement = read_statement(source)
    compared = None if other is None else compare(statement, source, other)
    if page is not None:
        write_result(statement_page(statement, _name(Path(source))), page, force=given["force"])
    if as_json:
        told = {"statement": source, "in_order": True, "page": None if page is None else str(page)}
        told["approved_by_its_own_words"] = statement.fields["approved"]
        click.echo(json.dumps({**told, **statement.to_dict(), "not_stated": statement.not_stated, "against": compared}))
        return
    _echo(f"{source} is in order", *([] if page is None else [f"page written to {page}"]), *say(statement))
    _echo(*([_ALONE] if compared is None else [f"compared with {shown(other)}: {compared}"]))


_NOTED = "keys, notes and times of the charges are in the statement; --without-notes leaves them out"
_ALONE = (
    "This shows damage and careless edits. Whether it is the statement that was published, --against shows: with the "
    "model, the ledger, or a hash from elsewhere."
)


def compare(statement: Any, source: str, other: str) -> str:
    """What a comparison with a model, a ledger or a hash has found, if they agree; else StatementError."""
    from hushrank.report import statement_comparison as comparison

    if is_hash(other):
        found = comparison.known_hash(statement, other.lower())
        if found is None:
            raise StatementError(f"{source} does not have this hash: it is not the statement that was published.")
        return found
    if is_mistyped_hash(other):
        raise click.UsageError(f"--against must be a hash of 64 digits 0-9 and a-f; this one has {len(other)}.")
    kind = kind_of(other)
    try:
        if kind == "model":
            changed = comparison.compare_with_model(statement, find("load")(other), file_sha256(other))
            told = "it is about this file" if statement.record.file_sha256 else "its record is that of this model"
            return f"{told}{comparison.say_changed(changed)}"
        if kind == "ledger":
            with find("Ledger")(other) as ledger:
                since = comparison.compare_with_ledger(statement, ledger)
            return f"all of its record is in the ledger{since.in_words()}"
    except (ValueError, LedgerError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise StatementError(f"{source} does not agree with {shown(other)}: {str(error).rstrip('.')}.") from error
    raise click.UsageError("--against must be a model file, a ledger or a hash of 64 digits.")


def say(statement: Any) -> Iterator[str]:
    """Event, budget, promise and hashes of a statement, a line each, and what the publisher has not said."""
    from hushrank.privacy.events import leaves
    from hushrank.privacy.figures import at_least, at_most, show_event
    from hushrank.report.statement_page import APPROVED

    known = statement.to_dict()
    is_model, asked = known["kind"] == "model", statement.budget
    yield f"of a {known['release']}" if is_model else f"of data set {known['dataset']}, charges: {known['charges']:,}"
    if known.get("file_sha256"):
        yield f"file: SHA-256 {known['file_sha256']}"
    yield f"{'asked for' if is_model else 'budget'}: epsilon = {at_most(asked.epsilon)}, delta = {at_most(asked.delta)}"
    within = "" if asked.bound is None else f", bound {at_least(asked.bound)}"
    yield f"unit {asked.unit}{within}, neighbors {asked.neighbors}"
    found = list(leaves(statement.event).items())
    yield from (f"event: {f'{n:,} x ' if n > 1 else ''}{show_event(leaf)}" for leaf, n in found[:SHOWN_EVENTS])
    if len(found) > SHOWN_EVENTS:
        yield f"and {len(found) - SHOWN_EVENTS:,} other events: --json shows all"
    yield " ".join(statement.sentences())
    yield f"statement: SHA-256 {statement.sha256} of numbers and record, {statement.fields_sha256} of all fields"
    if statement.head is not None:
        yield f"ledger: head {statement.head}"
    if statement.fields["approved"]:
        yield APPROVED
    if statement.not_stated:
        yield f"not stated by the publisher: {', '.join(name.rpartition('.')[2] for name in statement.not_stated)}"


def say_how(statement: Any) -> Iterator[str]:
    """How the publisher says what is not stated, by the options that ask for it."""
    asked = [f"--{option.replace('_', '-')}" for option, name in _ASKED_BY.items() if name in statement.not_stated]
    if asked:
        yield f"fill it in there, or ask again with {', '.join(asked)}"


def _refuse(given: dict[str, Any], names: list[str], message: str, kind: str) -> None:
    """Refuse options that are for something else."""
    wrong = [name for name in names if is_given(name)]
    if wrong:
        raise click.UsageError(message.format(kind, f"--{wrong[0].replace('_', '-')}"))


def _name(path: Path) -> str:
    """The name of a file as text; what cannot be seen in it is a question mark."""
    return "".join(sign if sign.isprintable() else "?" for sign in path.name)


def _echo(*lines: str) -> None:
    console = Console(highlight=False)
    for line in lines:
        console.print(printable(line), soft_wrap=True)
