"""Inlined modules behave as modules do; forms that are not known are refused."""

import subprocess

import pytest

from browser_support import find_node
from hushrank.web.inlining import inline

SOURCES = {
    "low": "const hidden = 1;\nexport const one = hidden;\nexport function two() { return 2; }\nexport class Three {}",
    "left": 'import { one, two } from "./low.mjs";\nconst hidden = 10;\nexport const left = hidden + one + two();',
    "right-side": 'import { one } from "./low.mjs";\nexport async function right() { return one; }',
    "page": 'import { left } from "./left.mjs";\nimport { right } from "./right-side.mjs";\n'
    "export const all = [left, right];",
}


def test_modules_run_once_in_the_order_of_their_imports():
    counted = {**SOURCES, "low": "globalThis.runs = (globalThis.runs ?? 0) + 1;\n" + SOURCES["low"]}
    script = inline("page", counted.__getitem__) + "_page.all[1]().then((x) => console.log(_page.all[0], x, runs));"
    done = subprocess.run([find_node(), "-e", f'"use strict";{script}'], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("13 1 1\n", "")
    assert script.count("const hidden = 1;") == 1 and script.index("_low =") < script.index("_left =")


@pytest.mark.parametrize(
    "source",
    [
        "export default 3;",
        'import * as all from "./low.mjs";',
        'import low from "./low.mjs";',
        "import { one } from './low.mjs';",
        'import { one as uno } from "./low.mjs";',
        'import { one } from "https://example.org/low.mjs";',
        'import { one } from "./low.js";',
        'export { one } from "./low.mjs";',
        "const one = 1;\nexport { one };",
        '  export * from "./low.mjs";',
        'const later = import("./low.mjs");',
        "console.log(import.meta.url);",
        "export let one = 1;",
    ],
)
def test_other_forms_are_refused(source):
    with pytest.raises(ValueError, match="import or export of another form"):
        inline("page", {**SOURCES, "page": source}.__getitem__)


def test_circles_are_refused():
    sources = {
        "a": 'import { b } from "./b.mjs";\nexport const a = 1;',
        "b": 'import { a } from "./a.mjs";\nexport const b = 1;',
    }
    with pytest.raises(ValueError, match="in a circle: a -> b -> a"):
        inline("a", sources.__getitem__)


def test_a_missing_module_is_told():
    with pytest.raises(KeyError, match="none"):
        inline("a", {"a": 'import { b } from "./none.mjs";'}.__getitem__)
