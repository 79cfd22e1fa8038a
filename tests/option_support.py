"""Command lines made from parameter tables: words for every option, and the value that must arrive."""

import numpy as np

from hushrank.estimators.completion.parameters import CatalogueParam
from hushrank.parameters import PairParam

N_COUNTED = 7


class Reached(Exception):
    """Raised in the place of the work, once the values have arrived; holds them by name."""

    def __init__(self, values):
        super().__init__("the values have arrived")
        self.values = values


def option_of(name, line):
    return f"--{(line.option or name).replace('_', '-')}"


def with_options(table):
    return {name: line for name, line in table.items() if line.option is not None}


def written(name, line):
    """Words of a command line that set the parameter, and the value they stand for: one pair for each kind of value."""
    option = option_of(name, line)
    if isinstance(line, CatalogueParam):
        return [([option, f"{N_COUNTED}"], N_COUNTED)]
    if line.kind is bool:
        return [([option], True), ([option.replace("--", "--no-")], False)]
    words = [([option, word], word) for word in line.words]
    if line.metavars:
        first = N_COUNTED if isinstance(line, PairParam) else 0.5
        numbers = tuple(first + i for i in range(len(line.metavars)))
        return [([option, *map(str, numbers)], numbers), *words]
    numbers = {np.ndarray: [("0.5,-2", [0.5, -2.0])], float: [("0.375", 0.375)], int: [("3", 3)], None: []}[line.kind]
    return [*(([option, text], value) for text, value in numbers), *words]


def is_required(line):
    return line.default is ... or isinstance(line, CatalogueParam)


def required_words(table):
    """Words for everything that a command does not run without."""
    needed = {name: line for name, line in with_options(table).items() if is_required(line)}
    return [word for name, line in needed.items() for word in written(name, line)[0][0]]


def defaults_in(table):
    """Values by name of the options that may be left out."""
    return {name: line.default for name, line in with_options(table).items() if not is_required(line)}


def options_in(command):
    """All options of a command as they are written, without --help and the negative form of flags."""
    return {param.opts[0] for param in command.params if param.param_type_name == "option"}


def misplaced_options(command, tables, by_hand):
    """Options that a command has beside those of its tables and those written by hand, or lacks."""
    listed = {option_of(name, line) for table in tables for name, line in with_options(table).items()}
    return options_in(command) ^ (listed | set(by_hand))
