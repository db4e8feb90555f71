"""Dependents of a change in other repositories, by the names of packages in each language."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import frozen

from cairn import protocol
from cairn.engine.runner import answer
from tests.engine.engines import NO_VECTORS, indexed
from tests.harbour import write_files

Files = Mapping[str, str]


@frozen
class Case:
    """A package, an edit of one of its files, and a repository that uses it."""

    package: Files
    path: str
    edits: tuple[tuple[str, str], ...]
    user: Files
    expected: frozenset[tuple[str, int, float]]
    """The path, the 0-based line and the confidence of each dependent in the other repository."""


MOOR_SHIP = "def moor_ship(ship, berth):\n    return ship.moor(berth)\n"
BERTHS = f"""class Berth:
    def __init__(self, length):
        self.length = length

    def dock(self, ship):
        return ship


{MOOR_SHIP}"""
WIDGET = (
    "export function widget(size) {\n  return size;\n}\n\n"
    "export class Panel {\n  show(x) {\n    return x;\n  }\n}\n"
)
WIDGETS_GO = (
    "package widgets\n\nfunc Widget(n int) int {\n\treturn n\n}\n\ntype Panel struct{}\n\n"
    "func (p *Panel) Show(n int) int {\n\treturn n\n}\n"
)
PARSE = (
    "pub struct Parser;\n\nimpl Parser {\n    pub fn go(&self, n: i32) -> i32 {\n        n\n    }\n}\n\n"
    "pub fn parse_all(s: &str) -> i32 {\n    1\n}\n"
)
WIDGET_JAVA = (
    "package org.acme.ui;\n\npublic class Widget {\n  public int show(int n) {\n    return n;\n  }\n\n"
    "  public static int make(int n) {\n    return n;\n  }\n}\n"
)
WIDGET_CS = WIDGET_JAVA.replace("package org.acme.ui", "namespace Acme.Ui").replace("show", "Show")

CASES = {
    "python": Case(
        {
            "src/harbour/__init__.py": "from harbour.berths import moor_ship, Berth\n",
            "src/harbour/berths.py": BERTHS,
        },
        "src/harbour/berths.py",
        (
            (MOOR_SHIP, ""),
            ("dock(self, ship)", "dock(self, ship, fast)"),
            ("__init__(self, length)", "__init__(self, length, depth)"),
        ),
        {
            "use.py": (
                "import os\nfrom harbour import moor_ship as m, Berth\nimport harbour.berths\n\n\n"
                "def use(b):\n    m(1, 2)\n    harbour.berths.moor_ship(3, 4)\n    x = Berth(3)\n"
                "    x.dock(1)\n    b.dock(2)\n    os.dock(1)\n\n\n"
                "class Mine(Berth):\n    def dock(self, ship):\n        pass\n"
            ),
            "own.py": "def moor_ship():\n    pass\n\n\nmoor_ship()\n",
        },
        frozenset(
            ("use.py", line, sure)
            for line, sure in ((1, 0.95), (6, 0.95), (7, 0.85), (8, 0.95), (9, 0.75), (10, 0.45), (15, 0.95))
        ),
    ),
    "javascript": Case(
        {
            "package.json": '{"name": "@acme/ui", "main": "src/index.js"}',
            "src/index.js": "export { widget, Panel } from './widget.js';\n",
            "src/widget.js": WIDGET,
        },
        "src/widget.js",
        (("widget(size)", "widget(size, colour)"), ("  show(x) {\n    return x;\n  }\n", "")),
        {
            "use.ts": (
                "import { widget as w, Panel } from '@acme/ui';\nimport * as ui from '@acme/ui';\n"
                "import { widget as o } from '@acme/ui-kit';\nexport function f() {\n  w(1);\n"
                "  ui.widget(2);\n"
                "  o(3);\n  const p = new Panel();\n  p.show(4);\n}\n"
            ),
            "use.js": "const { widget } = require('@acme/ui/src/widget.js');\nwidget(1);\n",
        },
        frozenset(
            {("use.ts", 0, 0.95), ("use.ts", 4, 0.95), ("use.ts", 5, 0.85), ("use.ts", 8, 0.75)}
            | {("use.js", 1, 0.95)}
        ),
    ),
    "go": Case(
        {"go.mod": "module github.com/acme/ui\n", "widgets/w.go": WIDGETS_GO},
        "widgets/w.go",
        (("Widget(n int)", "Widget(n, m int)"), ("func (p *Panel) Show(n int) int {\n\treturn n\n}\n", "")),
        {
            "main.go": (
                "package main\n\nimport (\n"
                '\t"github.com/acme/ui/widgets"\n\tx "github.com/other/widgets"\n)\n\n'
                "func f() {\n\twidgets.Widget(1)\n\tx.Widget(2)\n\tp := &widgets.Panel{}\n\tp.Show(3)\n}\n"
            )
        },
        frozenset({("main.go", 8, 0.85), ("main.go", 11, 0.75)}),
    ),
    "rust": Case(
        {
            "Cargo.toml": '[package]\nname = "acme-core"\n',
            "src/lib.rs": "pub mod parse;\npub use parse::Parser;\n",
            "src/parse.rs": PARSE,
        },
        "src/parse.rs",
        (("pub fn parse_all(s: &str) -> i32 {\n    1\n}\n", ""), ("go(&self, n: i32)", "go(&self)")),
        {
            "Cargo.toml": '[package]\nname = "user"\n',
            "src/main.rs": (
                'use acme_core::parse::{parse_all as pa};\nuse acme_core::Parser;\n\nfn f() {\n    pa("1");\n'
                '    acme_core::parse::parse_all("2");\n    let p = Parser;\n    p.go(1);\n}\n'
            ),
        },
        frozenset(("src/main.rs", line, sure) for line, sure in ((0, 0.95), (4, 0.95), (5, 0.85), (7, 0.75))),
    ),
    "java": Case(
        {"src/org/acme/ui/Widget.java": WIDGET_JAVA},
        "src/org/acme/ui/Widget.java",
        (
            ("show(int n)", "show(int n, int m)"),
            ("  public static int make(int n) {\n    return n;\n  }\n", ""),
        ),
        {
            "Use.java": (
                "package org.other;\n\nimport org.acme.ui.Widget;\n\nclass Use {\n  void f() {\n"
                "    Widget w = new Widget();\n    w.show(1);\n    Widget.make(3);\n  }\n}\n"
            ),
            "Heir.java": (
                "package org.other;\n\nimport org.acme.ui.*;\n\nclass Heir extends Widget {\n"
                "  public int show(int n) {\n    return 1;\n  }\n}\n"
            ),
        },
        frozenset({("Use.java", 7, 0.75), ("Use.java", 8, 0.85), ("Heir.java", 5, 0.9)}),
    ),
    "csharp": Case(
        {"Ui/Widget.cs": WIDGET_CS},
        "Ui/Widget.cs",
        (("Show(int n)", "Show(int n, int m)"),),
        {
            "Use.cs": (
                "using Acme.Ui;\n\nnamespace Other;\n\nclass Use {\n  void F() {\n    var w = new Widget();\n"
                "    w.Show(1);\n  }\n}\n"
            )
        },
        frozenset({("Use.cs", 7, 0.75)}),
    ),
    "ruby": Case(
        {
            "lib/acme.rb": "require 'acme/ui'\n",
            "lib/acme/ui.rb": "class Acme::Ui\n  def self.widget(n)\n    n\n  end\nend\n",
        },
        "lib/acme/ui.rb",
        (("widget(n)", "widget(n, m)"),),
        {
            "use.rb": "require 'acme'\n\ndef f\n  Acme::Ui.widget(1)\nend\n",
            "own.rb": "def g\n  widget(1)\nend\n",
        },
        frozenset({("use.rb", 3, 0.85)}),
    ),
    "c": Case(
        {
            "include/acme/ui.h": "int widget(int n);\n",
            "src/ui.c": '#include "acme/ui.h"\n\nint widget(int n)\n{\n\treturn n;\n}\n',
        },
        "src/ui.c",
        (("int widget(int n)", "int widget(int n, int m)"),),
        {
            "use.c": "#include <acme/ui.h>\n\nint f(void)\n{\n\treturn widget(1);\n}\n",
            "own.c": "int g(void)\n{\n\treturn widget(1);\n}\n",
        },
        frozenset({("use.c", 4, 0.75)}),
    ),
    "elixir": Case(
        {"lib/acme/ui.ex": "defmodule Acme.Ui do\n  def widget(n) do\n    n\n  end\nend\n"},
        "lib/acme/ui.ex",
        (("widget(n)", "widget(n, m)"),),
        {"lib/o.ex": "defmodule Other do\n  alias Acme.Ui\n\n  def f do\n    Ui.widget(1)\n  end\nend\n"},
        frozenset({("lib/o.ex", 4, 0.85)}),
    ),
}


def changed(folder: Path, case: Case, more: Files | None = None) -> protocol.ChangeAnswer:
    """Ask what the edits touch, with the package and its user as two open folders."""
    package = write_files(folder / "package", case.package)
    user = write_files(folder / "user", {**case.user, **(more or {})})
    after = before = case.package[case.path]
    for old, new in case.edits:
        assert old in after
        after = after.replace(old, new)
    lines = [text.splitlines(keepends=True) for text in (before, after)]
    diff = "".join(difflib.unified_diff(*lines, f"a/{case.path}", f"b/{case.path}"))
    params = protocol.ChangeParams(diff=diff, folder=package.as_uri(), limit=100)
    with indexed(package, user, **NO_VECTORS) as engine:
        found: protocol.ChangeAnswer = answer(engine.request(), "change", params, as_json=False)
    return found


def elsewhere(found: protocol.ChangeAnswer) -> list[protocol.ChangePlace]:
    return [each for each in found.dependents if each.folder.endswith("/user")]


@pytest.mark.parametrize("language", CASES)
def test_uses_of_an_imported_package_are_dependents(
    tmp_path: Path, bare_data_dir: Path, language: str
) -> None:
    case = CASES[language]
    places = elsewhere(changed(tmp_path, case))
    assert {(each.path, each.range.start.line, each.confidence) for each in places} == case.expected
    assert all(each.is_stale for each in places if each.kind != "import")
    assert all(each.line.strip() for each in places)


def test_reasons_name_the_import(tmp_path: Path, bare_data_dir: Path) -> None:
    places = elsewhere(changed(tmp_path, CASES["javascript"]))
    reasons = {each.range.start.line: each.reasons for each in places if each.path == "use.ts"}
    assert reasons[4] == (
        "calls `widget` as before, but it has the new parameter `colour`",
        "imports `widget` from `@acme/ui`",
    )


def test_repository_with_a_copy_of_the_package_uses_its_own(tmp_path: Path, bare_data_dir: Path) -> None:
    case = CASES["python"]
    assert not elsewhere(changed(tmp_path, case, {f"vendor/{case.path}": BERTHS}))


def test_name_that_the_package_still_exports_is_not_stale(tmp_path: Path, bare_data_dir: Path) -> None:
    package = {
        "harbour/__init__.py": "from harbour.berths import moor_ship\n",
        "harbour/berths.py": BERTHS,
        "harbour/ships.py": MOOR_SHIP,
    }
    edits = ((MOOR_SHIP, ""), ("class Berth:", "from harbour.ships import moor_ship\n\n\nclass Berth:"))
    user = {"use.py": "from harbour import moor_ship\n\nmoor_ship(1, 2)\n"}
    places = elsewhere(changed(tmp_path, Case(package, "harbour/berths.py", edits, user, frozenset())))
    assert places
    assert not any(each.is_stale for each in places)


def test_names_of_other_packages_are_not_dependents(tmp_path: Path, bare_data_dir: Path) -> None:
    user = {
        "use.py": "from port.berths import moor_ship\nimport harbours\n\nmoor_ship(1, 2)\nharbours.dock(1)\n",
        "use2.py": "import harbour\nfrom port import moor_ship\n\nmoor_ship(1, 2)\n",
    }
    case = CASES["python"]
    assert not elsewhere(changed(tmp_path, Case(case.package, case.path, case.edits, user, frozenset())))
