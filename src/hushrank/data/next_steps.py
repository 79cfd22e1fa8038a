"""What to run next on a table: commands to paste, with names in capitals for what only people know.

A step is one line: words that end in a colon, or a command of a shell.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from hushrank.data.found_files import folder_files
from hushrank.data.remote_files import Place, RemotePath
from hushrank.data.text_files import text_suffix

_BUDGET = "--epsilon 1 --delta 1e-6"
_BOUNDS = (
    "columns differ much in size. Write limits that are known without these data to BOUNDS.csv, "
    "{line} and a line a column"
)


def join_steps(*steps: str) -> str:
    """Steps as one text, a line each; empty ones are left out."""
    return "\n".join(step for step in steps if step)


def look_again(path: Place, words: str) -> str:
    """Mend something by hand, and check again."""
    return join_steps(f"{words}, and look again:", f"hushrank check {_word(path)}")


def _unparted(path: Place, names: Sequence[str], option: str, steps: str) -> str:
    """Steps with an option that lists these names, unless it would part them at their commas."""
    if not any("," in name for name in names):
        return steps
    return look_again(path, f"take commas out of the names of columns, which {option} separates by them")


def unbroken_steps(path: Place, names: Sequence[str], steps: str) -> str:
    """Steps, unless a line break in a name that they use would break a line of them in two."""
    if _is_broken(str(path)):
        return "give the file a name without line breaks, and look again"
    if any(_is_broken(name) and name in steps for name in names):
        return look_again(path, "take line breaks out of the names of columns")
    return steps


def _is_broken(name: str) -> bool:
    return name.splitlines() not in ([], [name])


def pca_steps(
    path: Place,
    chosen: Sequence[str],
    n_columns: int,
    *,
    has_scales: bool = False,
    is_complex: bool = False,
    line: str = "",
) -> str:
    """Components around the mean: without a center the first of them would be the mean itself.

    Parameters
    ----------
    path : Path or RemotePath
    chosen : sequence of str
        Columns to use; empty for all.
    n_columns : int
        How many these are.
    has_scales : bool
        Whether columns differ so much in size that each needs limits of its own; complex ones can have none.
    is_complex : bool
    line : str
        The header of a file of limits, if it is none with names of columns.
    """
    columns = f" --columns {quote(','.join(chosen))}" if chosen else ""
    columns += " --field complex" if is_complex else ""
    has_scales = has_scales and not is_complex
    bounds = "--column-bounds BOUNDS.csv --center private --standardize after"
    terms = f"--components {min(2, max(n_columns, 1))} {bounds if has_scales else '--row-norm BOUND --center private'}"
    words = f"{_BOUNDS.format(line=line or 'column,low,high')}, and then:" if has_scales else ""
    steps = join_steps(words, f"hushrank check pca {_word(path)}{columns} {terms} {_BUDGET}")
    return _unparted(path, chosen, "--columns", steps)


def group_steps(path: Place, user: str, words: str = "people have several rows:") -> str:
    """One row a person, by the mean of each column."""
    out = _beside(path, "_by_person.csv")
    code = f"{_read(path)}.groupby({_text(user)}).mean(numeric_only=True).to_csv({_text(str(out))})"
    how = "bring the table to one row a person, such as the mean of each column, and look at that:"
    return join_steps(f"{words} {how}", _python(code), f"hushrank check {_word(out)}")


def personalize_steps(path: Place, user: str, target: str, features: Sequence[str], n_features: int) -> str:
    """Answers of users, from what all of them share; `features` are empty for all other columns."""
    chosen = f" --features {quote(','.join(features))}" if features else ""
    roles = f"--user {quote(user)} --target {quote(target)}{chosen}"
    terms = f"--components {min(2, max(n_features, 1))} {_BUDGET}"
    return _unparted(path, features, "--features", f"hushrank check personalize {_word(path)} {roles} {terms}")


def complete_steps(path: Place, roles: Mapping[str, str]) -> str:
    """Ratings, with the options that name their columns where they are called otherwise; a rating may be missing."""
    named = "".join(f" --{role}-col {quote(name)}" for role, name in roles.items() if name and name != role)
    terms = "--rating-range LOW HIGH" if roles["rating"] else "--feedback implicit"
    return f"hushrank check complete {_word(path)}{named} --items CATALOGUE.csv {terms} --rank 8 {_BUDGET}"


def stream_steps(path: Place, *, is_bounded: bool = True, has_users: bool = False) -> str:
    """Updates of a matrix; one is at most 1 unless they are not `is_bounded`, and what all of a user's are is asked."""
    unit = " --unit user" if has_users else ""
    bound = "" if is_bounded and not has_users else " --bound BOUND"
    return f"hushrank check stream {_word(path)} --shape ROWS COLUMNS --rank 5{unit}{bound} {_BUDGET}"


def update_steps(path: Place, names: Sequence[str], user: str = "", *, are_ids: bool = True) -> str:
    """Updates as they are, or with columns renamed to those that a stream knows.

    Parameters
    ----------
    path : Path or RemotePath
    names : sequence of str
        All columns: row, column or col, and delta in any case are among them.
    user : str
        Column that says whose an update is, where people have several.
    are_ids : bool
        Whether a stream takes users of this type; it takes none of floats, and all that a CSV file writes.
    """
    words = "people have several updates; BOUND is what the sizes of one's own add up to at most, as publicly known:"
    given = {_find(role, names): role for role in ("row", "column", "delta")} | ({user: "user"} if user else {})
    own = [name for name in given if name != given[name] and (name, given[name]) != ("col", "column")]
    line, out = stream_steps(path, has_users=bool(user)), _beside(path, "_updates.csv")
    rename = ""
    if own or not are_ids or {"column", "col"} <= set(names):
        pairs = ", ".join(f"{_text(name)}: {_text(role)}" for name, role in given.items())
        chosen = f"[[{', '.join(map(_text, given))}]].rename(columns={{{pairs}}})"
        table = _read(path)
        table += ".reset_index()" if "read_parquet" in table else ""  # a stored index may be the users
        code = _python(f"{table}{chosen}.to_csv({_text(str(out))}, index=False)")
        rename = join_steps(f"hushrank stream takes columns that are called {', '.join(given.values())}:", code)
        line = stream_steps(out, has_users=bool(user))
    return join_steps(rename, words if user else "", line)


def _find(role: str, names: Sequence[str]) -> str:
    """The column of a role: the one that is called so, or one in another case, or "col"."""
    called = (role, "col") if role == "column" else (role,)
    exact = [word for word in called if word in names]
    return (exact + [name for word in called for name in names if name.lower() == word])[0]


def edge_steps(path: Place, ends: Sequence[str], weight: str, *, is_numbered: bool, is_bounded: bool) -> str:
    """Edges as updates of a square matrix, each of weight 1 where there is no column of weights."""
    out = _beside(path, "_updates.csv")
    words = "hushrank stream takes edges as updates row, column and delta, with ids that are numbers from 0 on"
    listed = "" if is_numbered else "; NODES.csv lists the nodes, by what is publicly known"
    code = _updates(path, ends, weight, () if is_numbered else ("NODES.csv", "NODES.csv"), out)
    return join_steps(f"{words}{listed}:", code, stream_steps(out, is_bounded=is_bounded))


def entry_steps(path: Place, names: Sequence[str], *, is_numbered: bool, is_count: bool) -> str:
    """Entries of a matrix: answers about it, one a person, or a matrix that is written as a list of counts."""
    numbering, source, ids = "", path, " (ids must be numbers from 0 on)"
    if not is_numbered:
        source, ids = _beside(path, "_numbered.csv"), ""
        words = "number the ids from 0 on; ROWS.csv and COLUMNS.csv list them, by what is publicly known:"
        numbering = join_steps(words, _number(path, names, source))
    if not is_count:
        own = join_steps(f"if every line is of another person, learn the matrix{ids}:", _trace(source, names))
        return join_steps(numbering, own, _pivot(path, source, names))
    updates = _beside(path, "_updates.csv")
    words = "or, to hide one line and not a row, take the lines as updates of the matrix:"
    as_updates = join_steps(words, _updates(source, names[:2], names[2], (), updates))
    return join_steps(numbering, _pivot(path, source, names, ids), as_updates, stream_steps(updates, is_bounded=False))


def _trace(source: Place, names: Sequence[str]) -> str:
    row, column, number = map(quote, names)
    roles = f"--row {row} --column {column} --target {number}"
    terms = f"--design entry --shape ROWS COLUMNS {roles} --y-scale SCALE --rank 2"
    return f"hushrank check trace {_word(source)} {terms} {_BUDGET}"


def _pivot(path: Place, source: Place, names: Sequence[str], ids: str = "") -> str:
    """Lines as a sparse matrix."""
    row, column, number = (f"t[{_text(name)}]" for name in names)
    out = _beside(path, "_matrix.npz")
    matrix = f"scipy.sparse.coo_array(({number}, ({row}, {column})), shape=(ROWS, COLUMNS)).tocsr()"
    code = f"import scipy.sparse; t = {_read(source)}; scipy.sparse.save_npz({_text(str(out))}, {matrix})"
    words = f"if a row of the matrix is a person's, pivot the lines to a sparse matrix{ids}:"
    return join_steps(words, _python(code), f"hushrank check {_word(out)}")


def _number(path: Place, names: Sequence[str], out: Place) -> str:
    files = zip(names, ("ROWS.csv", "COLUMNS.csv"), strict=False)
    columns = ", ".join(f"{_text(name)}: {_index(name, file)}" for name, file in files)
    return _python(f"{_read(path)}.assign(**{{{columns}}}).to_csv({_text(str(out))}, index=False)")


def _updates(path: Place, ends: Sequence[str], number: str, lists: Sequence[str], out: Place) -> str:
    """Columns renamed to row, column and delta; `lists` are files of ids where these are no numbers."""
    given = {ends[0]: "row", ends[1]: "column", **({number: "delta"} if number else {})}
    renamed = {name: role for name, role in given.items() if name != role}
    code = _read(path)
    if renamed:
        pairs = ", ".join(f"{_text(name)}: {_text(role)}" for name, role in renamed.items())
        code += f".rename(columns={{{pairs}}})"
    added = [] if number else ["delta=1"]
    added += [f"{role}={_index(role, file)}" for role, file in zip(("row", "column"), lists, strict=False)]
    code += f".assign({', '.join(added)})" if added else ""
    return _python(f"{code}.to_csv({_text(str(out))}, index=False)")


def _index(name: str, file: str) -> str:
    """A function that numbers the ids of a column by their place in a file; -1 for those that it does not have."""
    return f"lambda t: pandas.Index(pandas.read_csv({_text(file)}).iloc[:, 0]).get_indexer(t[{_text(name)}])"


def _read(path: Place) -> str:
    files = folder_files(path, "check") if path.is_dir() else [path]
    suffix = text_suffix(files[0])
    if suffix is None:
        return f"pandas.read_parquet({_text(str(path))})"
    separator = r', sep="\t"' if suffix.startswith(".tsv") else ""
    if isinstance(path, RemotePath) and path.is_dir():
        return f"pandas.concat(pandas.read_csv(file{separator}) for file in FILES)"
    if not path.is_dir():
        return f"pandas.read_csv({_text(str(path))}{separator})"
    found = f"sorted(pathlib.Path({_text(str(path))}).rglob({_text('*' + suffix)}))"
    return f"pandas.concat(pandas.read_csv(file{separator}) for file in {found})"


def _word(path: Place) -> str:
    """A path as a word of a shell; a name that starts with a dash would be taken for an option."""
    text = str(path)
    return quote(f"./{text}" if text.startswith("-") else text)


def _text(text: str) -> str:
    """A text in Python, in double quotes: single ones are those of the shell."""
    return json.dumps(text, ensure_ascii=False)


def _python(code: str) -> str:
    modules = "pandas, pathlib" if "pathlib." in code else "pandas"
    return f"python -c {quote(f'import {modules}; {code}')}"


def _beside(path: Place, ending: str) -> Path:
    """A new file in the folder of another, or in the current one if that lies elsewhere."""
    folder = path.parent if isinstance(path, Path) else Path()
    return folder / f"{path.name.split('.')[0] or 'table'}{ending}"
