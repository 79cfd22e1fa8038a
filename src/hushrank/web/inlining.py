"""Small JavaScript modules as one script: browsers load no modules from file://, so a page carries them itself.

Each module becomes a function that runs once and returns what it exports, in the order of the imports, so that names
of one module cannot meet those of another. Only the forms of import and export that our modules use are known; a
source with any other is refused, never passed on half translated.
"""

import re
from collections.abc import Callable

Read = Callable[[str], str]

_IMPORT = re.compile(r'^import \{ ([\w$]+(?:, [\w$]+)*) \} from "\./([\w-]+)\.mjs";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) ([\w$]+))", re.MULTILINE)
_OTHER = re.compile(r"^\s*(?:import|export)\b.*$|\bimport\s*\(|\bimport\.meta\b", re.MULTILINE)


def inline(entry: str, read: Read) -> str:
    """One script in which every module ran, and whose name `_entry` holds what the entry exports.

    Parameters
    ----------
    entry : str
        Name of a module, without its ending.
    read : callable
        Name -> source.

    Examples
    --------
    >>> page = 'import { two } from "./two.mjs";\\nexport const four = 2 * two;'
    >>> print(inline("page", {"two": "export const two = 2;", "page": page}.__getitem__))
    const _two = (() => {
    const two = 2;
    return { two };
    })();
    const _page = (() => {
    const { two } = _two;
    const four = 2 * two;
    return { four };
    })();
    <BLANKLINE>
    """
    return "".join(_to_function(name, source) for name, source in _in_order(entry, read))


def _in_order(entry: str, read: Read) -> list[tuple[str, str]]:
    """Names and sources of a module and of all that it imports, each after what it imports itself."""
    found: dict[str, str] = {}
    waiting: list[str] = []

    def visit(name: str) -> None:
        if name in waiting:
            raise ValueError(f"modules import each other in a circle: {' -> '.join([*waiting, name])}")
        if name not in found:
            waiting.append(name)
            source = read(name)
            for _, other in _IMPORT.findall(source):
                visit(other)
            waiting.pop()
            found[name] = source

    visit(entry)
    return list(found.items())


def _to_function(name: str, source: str) -> str:
    body = _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = {_variable(found[2])};", source)
    exported = ", ".join(_EXPORT.findall(body))
    body = _EXPORT.sub("", body).strip()
    other = _OTHER.search(body)
    if other:
        raise ValueError(f"module {name!r} has an import or export of another form: {other[0].strip()!r:.80}")
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"


def _variable(name: str) -> str:
    return f"_{name.replace('-', '_')}"
