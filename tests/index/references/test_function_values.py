"""Callers are found through one value: an object's member, an alias, a literal's field, a default."""

from __future__ import annotations

import pytest
from tests.index.references.workspaces import Open, Workspace, callers, functions_of, graph

FUNCTION_VALUES = {
    "typescript: a member of an object in another file": Workspace(
        "moor",
        {
            "widget.ts": "export function moor(x: number) { return x }\nexport function tie(x: number) { return x }\n",  # noqa: E501
            "api.ts": "import { moor, tie } from './widget'\nexport const api = { run: moor, tie }\n",
            "use.ts": "import { api } from './api'\nexport function land() { return api.run(1) }\nexport function other() { return api.tie(1) }\n",  # noqa: E501
        },
        {"use.ts land"},
    ),
    "javascript: an alias, and one that has its object": Workspace(
        "moor",
        {
            "widget.js": "export function moor (x) { return x }\nexport const g = moor\nexport const bound = moor.bind(null)\n",  # noqa: E501
            "use.js": "import { bound, g } from './widget'\n\nfunction land () {\n  return g(1)\n}\n\nfunction wait () {\n  return bound(1)\n}\n",  # noqa: E501
        },
        {"use.js land", "use.js wait"},
    ),
    "python: an alias, a default and a partial function": Workspace(
        "moor",
        {
            "port.py": "import functools\n\n\ndef moor(x=1):\n    return x\n\n\ng = moor\nh = functools.partial(moor, 1)\n",  # noqa: E501
            "app.py": "from port import g, h, moor\n\n\ndef land():\n    return g()\n\n\ndef wait():\n    return h()\n\n\n"  # noqa: E501
            "def default(f=moor):\n    return f()\n\n\ndef local():\n    f = moor\n    return f()\n\n\ndef other(f):\n    return f()\n",  # noqa: E501
        },
        {"app.py land", "app.py wait", "app.py default", "app.py local"},
    ),
    "go: a variable and a field of a literal": Workspace(
        "moor",
        {
            "go.mod": "module example.org/p\n",
            "a.go": "package p\n\ntype Ops struct {\n\tRun func(int) int\n}\n\nfunc moor(x int) int { return x }\n\nvar g = moor\n\nvar ops = Ops{Run: moor}\n",  # noqa: E501
            "b.go": "package p\n\nfunc land() int { return g(1) }\n\nfunc wait() int { return ops.Run(1) }\n\nfunc given(o *Ops) int { return o.Run(2) }\n",  # noqa: E501
        },
        {"b.go land", "b.go wait", "b.go given"},
    ),
    "c: a table of functions": Workspace(
        "moor",
        {
            "ops.h": "struct ops { int (*run)(int); int (*tie)(int); };\nextern const struct ops o;\n",
            "ops.c": '#include "ops.h"\nstatic int moor(int x) { return x; }\nstatic int tie(int x) { return x; }\n'  # noqa: E501
            "const struct ops o = { .run = moor, .tie = tie };\nint land(void) { return o.run(1); }\n",
            "app.c": '#include "ops.h"\nint wait(void) { return o.run(2); }\nint given(struct ops *p) { return p->run(3); }\nint other(struct ops *p) { return p->tie(4); }\n',  # noqa: E501
        },
        {"ops.c land", "app.c wait", "app.c given"},
    ),
    "rust: a constant and a field": Workspace(
        "moor",
        {
            "src/lib.rs": "fn moor(x: u32) -> u32 { x }\nconst G: fn(u32) -> u32 = moor;\npub struct Ops { run: fn(u32) -> u32 }\n"  # noqa: E501
            "static OPS: Ops = Ops { run: moor };\npub fn land() -> u32 { G(1) }\npub fn wait() -> u32 { (OPS.run)(2) }\n",  # noqa: E501
        },
        {"src/lib.rs land", "src/lib.rs wait"},
    ),
    "ruby: a method as a constant": Workspace(
        "moor",
        {"a.rb": "def moor(x)\n  x\nend\n\nG = method(:moor)\n\ndef land\n  G.call(1)\nend\n"},
        {"a.rb land"},
    ),
    "typescript: a function given as a dependency": Workspace(
        "runSync",
        {
            "sync.ts": "export function runSync(x: number) { return x }\n",
            "app.ts": "export interface Deps { sync: (x: number) => number }\nexport function createApp(deps: Deps) {\n  return deps.sync(1)\n}\n",  # noqa: E501
            "main.ts": "import { createApp } from './app'\nimport { runSync } from './sync'\n\nfunction main() {\n  createApp({ sync: runSync })\n}\n",  # noqa: E501
        },
        {"app.ts createApp"},
    ),
}


@pytest.mark.parametrize("workspace", FUNCTION_VALUES.values(), ids=FUNCTION_VALUES)
def test_functions_that_values_hold_have_callers(opened: Open, workspace: Workspace) -> None:
    found = callers(opened(workspace.files), workspace.symbol)
    assert {each for each in functions_of(found) if not each.endswith(" -")} == workspace.callers
    assert all(
        0.5 <= each.confidence < 0.9 for each in found.found if each.enclosing and each.confidence > 0.5
    )
    assert any(each.via.startswith(("through", "given as", "calls")) for each in found.found)


def test_a_function_that_a_module_exports_by_another_name_has_callers(opened: Open) -> None:
    folder = opened(
        {
            "widget.js": "function moor (x) { return x }\nmodule.exports = { run: moor }\n",
            "use.js": "const widget = require('./widget')\n\nfunction land () {\n  return widget.run(1)\n}\n",
        }
    )
    assert functions_of(callers(folder, "moor")) == {"use.js land"}


def test_callees_are_the_functions_that_values_hold(opened: Open) -> None:
    folder = opened(FUNCTION_VALUES["typescript: a member of an object in another file"].files)
    references = graph(folder)
    (call,) = references.callees(references.named("land")[0], 10).found
    assert (call.target and call.target.qualified, call.via) == ("moor", "through `api.run`")


def test_an_object_implements_the_interface_of_its_type(opened: Open) -> None:
    folder = opened(
        {
            "port.ts": "export interface Port {\n  moor(): void;\n}\n",
            "dock.ts": "import { Port } from './port'\nexport const dock: Port = {\n  moor() {},\n}\n",
            "use.ts": "import { dock } from './dock'\nimport { Port } from './port'\n\nfunction land(port: Port) {\n  port.moor()\n}\n"  # noqa: E501
            "function wait() {\n  dock.moor()\n}\n",
        }
    )
    references = graph(folder)
    found = references.implementations(references.named("Port"), 10).found
    assert [each.enclosing and each.enclosing.name for each in found] == ["dock"]
    assert functions_of(callers(folder, "dock.moor")) == {"use.ts land", "use.ts wait"}
