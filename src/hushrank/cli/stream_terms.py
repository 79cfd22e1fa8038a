"""How a run of `hushrank stream` was asked for, and what is refused before anything is read."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from hushrank.cli.accounts import check_ledger_options, ledger_files
from hushrank.cli.writing import check_place, resolve
from hushrank.data.remote_files import is_address, local_path

PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class Terms:
    """How a run was asked for: the argument and all options that are no parameters, see --help."""

    source: str | None
    out: Path | None
    report: Path | None
    checkpoint: Path | None
    checkpoint_every: int | None
    resume: bool
    continues: bool
    key_file: Path | None
    no_factorize: bool
    again: bool
    ledger_address: str | None
    dataset: str | None
    seed: int | None
    quiet: bool
    verbose: bool
    as_json: bool
    note: str | None = None
    force: bool = False

    @property
    def path(self) -> Path | None:
        """The input, unless it is standard input or lies elsewhere."""
        return None if self.source in (None, "-") else local_path(str(self.source))

    @property
    def has_tables(self) -> bool:
        """Whether the input is added as a whole."""
        is_table = self.path is not None and (self.path.is_dir() or self.path.suffix.lower() in PARQUET)
        return is_table or is_address(self.source)

    def check(self) -> None:
        """Refuse what does not go together, an input of another kind, and places where nothing can be written."""
        check_ledger_options(self.ledger_address, self.dataset, self.note)
        for is_wrong, message in self._contradictions():
            if is_wrong:
                raise click.UsageError(message)
        path = self.path
        if path is not None and not self.has_tables and not (path.suffix.lower() == ".csv" or path.is_fifo()):
            suffixes = ", ".join((".csv", *PARQUET))
            packed = path.suffix.lower() in (".gz", ".zst")  # whose places a checkpoint could not go on from
            hint = (
                f" ({'zcat' if path.suffix.lower() == '.gz' else 'zstdcat'} {path} | hushrank stream -)"
                if packed
                else ""
            )
            raise click.UsageError(
                f"INPUT {path} must be a file ending in {suffixes}, a folder of Parquet or CSV files, or -{hint}."
            )
        if path is not None and not path.exists():
            from hushrank.data.files import guess_file  # --help needs none of it

            raise click.UsageError(f"INPUT {path} does not exist{guess_file(path) or '.'}")
        self._check_places()

    def kept(self) -> str:
        """Where the updates are that were read, for somebody whose run has ended before its time."""
        if self.has_tables or self.checkpoint is None or not self.checkpoint.exists():
            return "nothing of INPUT was kept"
        return (
            f"{self.checkpoint} has the updates before that: --resume goes on, with INPUT from its start again or, "
            "with --continues, from there"
        )

    def _contradictions(self) -> Iterator[tuple[bool, str]]:
        has_checkpoint, has_result = self.checkpoint is not None, self.out is not None or self.as_json
        yield (
            (self.resume or self.key_file is not None or self.checkpoint_every is not None) and not has_checkpoint,
            "--resume, --checkpoint-every and --key-file need --checkpoint FILE.",
        )
        yield self.continues and not self.resume, "--continues needs --resume."
        yield not self.no_factorize and not has_result, "Say where the result goes: --out FILE, or --json for stdout."
        yield (
            self.no_factorize and (has_result or self.report is not None),
            "--no-factorize has no result for --out, --report or --json.",
        )
        yield self.no_factorize and not has_checkpoint, "--no-factorize needs --checkpoint FILE, or nothing is kept."
        yield (
            self.has_tables and self.checkpoint_every is not None,
            "--checkpoint-every is not for Parquet files and folders: they are added whole, with one checkpoint.",
        )
        yield (
            self.has_tables and self.resume and not self.continues,
            "--resume cannot tell what of tables is in the checkpoint. With --continues all of INPUT is added.",
        )
        yield (
            self.source is None and sys.stdin is not None and sys.stdin.isatty(),
            "Give INPUT: a file, or - to type it.",
        )
        yield (
            has_checkpoint and not self.resume and Path(str(self.checkpoint)).exists(),
            f"{self.checkpoint} would be overwritten: --resume goes on with it.",
        )

    def _check_places(self) -> None:
        places = {"--out": self.out, "--report": self.report, "--checkpoint": self.checkpoint}
        kept = [self.path, self.key_file, *ledger_files(self.ledger_address)]
        taken: set[Path] = set()
        for option, place in places.items():
            if place is not None:
                is_state = option == "--checkpoint"  # made to be written again and again
                named = "the data, the ledger or the key"
                check_place(option, place, [one for one in kept if one], named, force=self.force or is_state)
                if resolve(place) in taken:
                    raise click.UsageError("--out, --report and --checkpoint are different files.")
                taken.add(resolve(place))
