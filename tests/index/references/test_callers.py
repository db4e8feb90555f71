"""Callers and other references are found in many languages, and in large, circular or broken code."""

from __future__ import annotations

import pytest
from tests.index.references.workspaces import SURE, Open, Workspace, callers, functions_of, graph

from cairn.index.references.graph import ReferenceGraph

WORKSPACES = {
    "python: an alias, a re-export and a method by the type of its receiver": Workspace(
        "Harbour.moor",
        {
            "port/harbour.py": "class Harbour:\n    def moor(self, ship):\n        return ship\n",
            "port/pier.py": "class Pier:\n    def moor(self, ship):\n        return None\n",
            "port/__init__.py": "from .harbour import Harbour as Haven\nfrom .pier import Pier\n",
            "app.py": "from port import Haven, Pier\n\n\ndef arrive(ship):\n    haven = Haven()\n    haven.moor(ship)\n\n\n"  # noqa: E501
            "def other(ship):\n    Pier().moor(ship)\n",
            "typed.py": "import port\n\n\ndef wait(harbour: port.Haven):\n    return harbour.moor(None)\n",
        },
        {"app.py arrive", "typed.py wait"},
    ),
    "python: an inherited method, and one that a field has": Workspace(
        "Base.start",
        {
            "base.py": "class Base:\n    def start(self):\n        pass\n",
            "heir.py": "from base import Base\n\n\nclass Heir(Base):\n    def run(self):\n        self.start()\n",  # noqa: E501
            "user.py": "from heir import Heir\n\n\nclass User:\n    def __init__(self):\n        self.heir = Heir()\n\n"  # noqa: E501
            "    def go(self):\n        self.heir.start()\n",
        },
        {"heir.py Heir.run", "user.py User.go"},
    ),
    "python: a constructor by its class": Workspace(
        "Ship",
        {
            "ships.py": "class Ship:\n    def __init__(self, name):\n        self.name = name\n",
            "yard.py": "import ships\n\n\ndef build():\n    return ships.Ship('a')\n",
        },
        {"yard.py build"},
    ),
    "python: what a function without a written type returns": Workspace(
        "Ship.sail",
        {
            "ships.py": "class Ship:\n    def sail(self):\n        pass\n\n\nclass Car:\n    def sail(self):\n        pass\n",  # noqa: E501
            "yard.py": "from ships import Ship\n\n\ndef build():\n    ship = Ship()\n    return ship\n",
            "app.py": "from yard import build\n\n\ndef go():\n    build().sail()\n",
        },
        {"app.py go"},
    ),
    "javascript: all that a module exports, under the name that its user gives it": Workspace(
        "Application",
        {
            "package.json": '{"name": "port", "main": "lib/application.js"}',
            "lib/application.js": "module.exports = class Application {\n  constructor () {\n    this.ships = []\n  }\n}\n",  # noqa: E501
            "test/app.test.js": "const Port = require('..')\n\nfunction start () {\n  return new Port()\n}\n",
        },
        {"test/app.test.js start"},
    ),
    "javascript: a method of the declarations of types beside the code": Workspace(
        "Server.moor",
        {
            "package.json": '{"name": "port", "main": "lib/index.js", "types": "lib/index.d.ts"}',
            "lib/index.js": "exports.server = function (options) {\n  return make(options)\n}\n",
            "lib/index.d.ts": "export class Server {\n  moor(ship: string): void;\n}\n\n"
            "export function server(options: object): Server;\n",
            "test/port.js": "const Port = require('..')\n\nfunction start () {\n  const server = Port.server({})\n  server.moor('a')\n}\n",  # noqa: E501
        },
        {"test/port.js start"},
    ),
    "typescript: a namespace that a module passes on": Workspace(
        "_moor",
        {
            "src/core.ts": "export function _moor(ship: string) {\n  return ship;\n}\n",
            "src/checks.ts": 'export { _moor as moor } from "./core.js";\n',
            "src/index.ts": 'export * as checks from "./checks.js";\n',
            "src/app.ts": 'import * as port from "./index.js";\n\nfunction arrive() {\n  port.checks.moor("a");\n}\n',  # noqa: E501
        },
        {"src/app.ts arrive"},
    ),
    "typescript: a chain of methods of a class": Workspace(
        "Schema.optional",
        {
            "schema.ts": "export class Schema {\n  min(n: number) {\n    return this;\n  }\n  optional(): Schema {\n"  # noqa: E501
            "    return this;\n  }\n}\nexport const make = (): Schema => new Schema();\n",
            "app.ts": 'import { make as build } from "./schema";\n\nfunction rule() {\n  return build().min(1).optional();\n}\n',  # noqa: E501
        },
        {"app.ts rule"},
    ),
    "go: a method by its receiver, and a function of another package": Workspace(
        "Harbour.Moor",
        {
            "go.mod": "module example.org/port\n",
            "ropes/ropes.go": "package ropes\n\ntype Harbour struct{}\n\nfunc (h *Harbour) Moor(n int) {}\n\n"
            "func New() *Harbour { return &Harbour{} }\n",
            "piers/piers.go": "package piers\n\ntype Pier struct{}\n\nfunc (p Pier) Moor(n int) {}\n",
            "main.go": 'package main\n\nimport (\n\t"example.org/port/piers"\n\t"example.org/port/ropes"\n)\n\n'  # noqa: E501
            "func arrive() {\n\th := ropes.New()\n\th.Moor(1)\n}\n\nfunc leave(p piers.Pier) {\n\tp.Moor(2)\n}\n",  # noqa: E501
        },
        {"main.go arrive"},
    ),
    "rust: a function of a module, and a method of a written type": Workspace(
        "Harbour.moor",
        {
            "Cargo.toml": '[package]\nname = "port"\n',
            "src/lib.rs": "pub mod harbour;\npub mod app;\n",
            "src/harbour.rs": "pub struct Harbour;\n\nimpl Harbour {\n    pub fn new() -> Self {\n        Harbour\n    }\n\n"  # noqa: E501
            "    pub fn moor(&self) {}\n}\n\npub struct Pier;\n\nimpl Pier {\n    pub fn moor(&self) {}\n}\n",
            "src/app.rs": "use crate::harbour::{Harbour, Pier};\n\npub fn arrive() {\n    let here = Harbour::new();\n"  # noqa: E501
            "    here.moor();\n}\n\npub fn leave(pier: &Pier) {\n    pier.moor();\n}\n",
        },
        {"src/app.rs arrive"},
    ),
    "java: a method of a field's type, in the same package and in another": Workspace(
        "Harbour.moor",
        {
            "src/port/Harbour.java": "package port;\n\npublic class Harbour {\n    public void moor(int n) {}\n}\n",  # noqa: E501
            "src/port/Pier.java": "package port;\n\npublic class Pier {\n    public void moor(int n) {}\n}\n",
            "src/port/Near.java": "package port;\n\nclass Near {\n    private Harbour harbour;\n\n    void go() {\n        harbour.moor(1);\n    }\n}\n",  # noqa: E501
            "src/sea/Far.java": "package sea;\n\nimport port.Harbour;\nimport port.Pier;\n\nclass Far {\n    void go(Harbour h) {\n"  # noqa: E501
            "        h.moor(1);\n    }\n\n    void no(Pier p) {\n        p.moor(1);\n    }\n}\n",
        },
        {"src/port/Near.java Near.go", "src/sea/Far.java Far.go"},
    ),
    "kotlin: a method of a supertype": Workspace(
        "Base.moor",
        {
            "Base.kt": "package port\n\nopen class Base {\n    fun moor(n: Int) {}\n}\n",
            "Heir.kt": "package port\n\nclass Heir : Base() {\n    fun go() {\n        moor(1)\n    }\n}\n",
            "App.kt": "package app\n\nimport port.Heir\n\nfun start() {\n    val heir = Heir()\n    heir.moor(2)\n}\n",  # noqa: E501
        },
        {"Heir.kt Heir.go", "App.kt start"},
    ),
    "c: through a header, but not a static function of the same name": Workspace(
        "moor",
        {
            "harbour.h": "int moor(int ship);\n",
            "harbour.c": '#include "harbour.h"\n\nint moor(int ship) {\n    return ship;\n}\n',
            "app.c": '#include "harbour.h"\n\nint arrive(void) {\n    return moor(1);\n}\n',
            "other.c": "static int moor(int car) {\n    return car;\n}\n\nint park(void) {\n    return moor(2);\n}\n",  # noqa: E501
        },
        {"app.c arrive"},
    ),
    "cpp: a method that is defined outside of its class": Workspace(
        "Harbour.moor",
        {
            "harbour.h": "class Harbour {\n public:\n  int moor(int ship);\n  int arrive();\n};\n",
            "harbour.cpp": '#include "harbour.h"\n\nint Harbour::moor(int ship) { return ship; }\n\n'
            "int Harbour::arrive() { return moor(1); }\n",
            "app.cpp": '#include "harbour.h"\n\nint go(Harbour* harbour) { return harbour->moor(2); }\n',
        },
        {"harbour.cpp Harbour.arrive", "app.cpp go"},
    ),
    "csharp: a method of a written type in a namespace": Workspace(
        "Harbour.Moor",
        {
            "Harbour.cs": "namespace Port;\n\npublic class Harbour {\n    public void Moor(int n) {}\n}\n",
            "Pier.cs": "namespace Port;\n\npublic class Pier {\n    public void Moor(int n) {}\n}\n",
            "App.cs": "using Port;\n\nnamespace App;\n\nclass Start {\n    void Go(Harbour harbour) {\n        harbour.Moor(1);\n    }\n\n"  # noqa: E501
            "    void No() {\n        var pier = new Pier();\n        pier.Moor(2);\n    }\n}\n",
        },
        {"App.cs Start.Go"},
    ),
    "ruby: a method of the same class, and of one that is made": Workspace(
        "Harbour#moor",
        {
            "lib/harbour.rb": "class Harbour\n  def moor(ship)\n    ship\n  end\n\n  def arrive\n    moor(1)\n  end\nend\n",  # noqa: E501
            "lib/app.rb": "require_relative 'harbour'\n\nclass App\n  def go\n    harbour = Harbour.new\n    harbour.moor(2)\n  end\nend\n",  # noqa: E501
        },
        {"lib/harbour.rb Harbour.arrive", "lib/app.rb App.go"},
    ),
    "php: a method of a promoted property": Workspace(
        "Harbour.moor",
        {
            "src/Harbour.php": "<?php\nnamespace Port;\n\nclass Harbour {\n    public function moor(int $n) {}\n}\n",  # noqa: E501
            "src/Pier.php": "<?php\nnamespace Port;\n\nclass Pier {\n    public function moor(int $n) {}\n}\n",  # noqa: E501
            "src/App.php": "<?php\nnamespace App;\n\nuse Port\\Harbour;\nuse Port\\Pier;\n\nclass App {\n"
            "    public function __construct(private Harbour $harbour, private Pier $pier) {}\n\n"
            "    public function go() {\n        $this->harbour->moor(1);\n    }\n\n"
            "    public function no() {\n        $this->pier->moor(1);\n    }\n}\n",
        },
        {"src/App.php App.go"},
    ),
    "scala: a method of a class parameter": Workspace(
        "Harbour.moor",
        {
            "Harbour.scala": "package port\n\nclass Harbour {\n  def moor(n: Int): Unit = {}\n}\n",
            "Pier.scala": "package port\n\nclass Pier {\n  def moor(n: Int): Unit = {}\n}\n",
            "App.scala": "package app\n\nimport port.{Harbour, Pier}\n\nclass App(harbour: Harbour, pier: Pier) {\n"  # noqa: E501
            "  def go(): Unit = {\n    harbour.moor(1)\n  }\n\n  def no(): Unit = {\n    pier.moor(1)\n  }\n}\n",  # noqa: E501
        },
        {"App.scala App.go"},
    ),
    "swift: a method of a property": Workspace(
        "Harbour.moor",
        {
            "Harbour.swift": "class Harbour {\n    func moor(_ n: Int) {}\n}\n\nclass Pier {\n    func moor(_ n: Int) {}\n}\n",  # noqa: E501
            "App.swift": "class App {\n    let harbour: Harbour\n    let pier = Pier()\n\n    func go() {\n        harbour.moor(1)\n    }\n\n"  # noqa: E501
            "    func no() {\n        pier.moor(2)\n    }\n}\n",
        },
        {"App.swift App.go"},
    ),
    "elixir: a function of an aliased module": Workspace(
        "Port.Harbour.moor",
        {
            "lib/harbour.ex": "defmodule Port.Harbour do\n  def moor(ship) do\n    ship\n  end\nend\n",
            "lib/pier.ex": "defmodule Port.Pier do\n  def moor(ship) do\n    ship\n  end\nend\n",
            "lib/app.ex": "defmodule Port.App do\n  alias Port.Harbour\n  alias Port.Pier\n\n  def go do\n    Harbour.moor(1)\n  end\n\n"  # noqa: E501
            "  def no do\n    Pier.moor(1)\n  end\nend\n",
        },
        {"lib/app.ex Port.App.go"},
    ),
}


@pytest.mark.parametrize("case", WORKSPACES)
def test_callers_are_found_in_every_language(opened: Open, case: str) -> None:
    workspace = WORKSPACES[case]
    assert functions_of(callers(opened(workspace.files), workspace.symbol)) == workspace.callers


def test_a_static_prototype_leads_to_its_function(opened: Open) -> None:
    folder = opened(
        {
            "harbour.c": "static int moor(int ship);\n\nint arrive(void) {\n    return moor(1);\n}\n\n"
            "static int moor(int ship) {\n    return ship;\n}\n"
        }
    )
    (meant,) = graph(folder).at("harbour.c", 0, 12)
    assert meant.line == 6
    assert [each.line for each in callers(folder, "moor").found] == [3]


def test_users_of_a_macro_make_its_calls(opened: Open) -> None:
    folder = opened(
        {
            "rope.h": "int tie(int n);\n#define knot(n) \\\n  tie((n) + 1)\n#define bow(n) knot(knot(n))\n#define tie really_tie\n",  # noqa: E501
            "rope.c": '#include "rope.h"\n\nint tie(int n) {\n    return n;\n}\n\nint moor(void) {\n    return bow(2);\n}\n',  # noqa: E501
        }
    )
    edges = callers(folder, "tie", "rope.c")
    assert functions_of(edges) == {"rope.h knot", "rope.h bow", "rope.c moor"}
    assert {each.via for each in edges.found if each.path == "rope.c"} == {"through the macro `bow`"}


def test_very_common_macros_are_not_followed(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.index.references.graph._MOST_FILES", 2)
    calling = {f"{name}.c": f"int {name}(void) {{\n    return knot(2);\n}}\n" for name in ("moor", "dock")}
    files = {
        "rope.c": "int tie(int n) {\n    return n;\n}\n",
        "rope.h": "#define knot(n) tie(n)\n",
        **calling,
    }
    edges = callers(opened(files), "tie", "rope.c")
    assert (functions_of(edges), edges.complete) == ({"rope.h knot"}, False)


def test_files_with_the_owner_are_searched_for_a_name_in_too_many_files(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.index.references.known_symbols._MOST_FILES", 2)
    many = {f"port_{n}.py": "def moor(ship):\n    return ship.data\n" for n in range(3)}
    files = {
        **many,
        "tides.py": "class Tides:\n    @staticmethod\n    def data():\n        return 1\n",
        "zone.py": "from tides import Tides\n\n\ndef plan():\n    return Tides.data()\n",
    }
    edges = callers(opened(files), "Tides.data", "tides.py")
    assert ("zone.py plan" in functions_of(edges), edges.complete) == (True, False)


def test_a_name_in_too_many_files_is_not_looked_up(opened: Open) -> None:
    one = "def moor(ship):\n    return tie(ship)\n\n\ndef tie(ship):\n    return ship\n"
    folder = opened({f"port_{n}.py": one.replace("tie", f"tie_{n}") for n in range(3)})
    for most, found in ((3, 3), (2, 0)):
        references = ReferenceGraph(folder.reader, most)
        assert functions_of(references.callers(references.named("tie_0"), 100)) == {"port_0.py moor"}
        assert len(references.named("moor")) == found


def test_references_on_lines_are_limited(opened: Open) -> None:
    calls = "".join(f"    tie_{n}(ship)\n" for n in range(5))
    ties = "".join(f"def tie_{n}(ship):\n    pass\n" for n in range(5))
    references = graph(opened({"port.py": f"def moor(ship):\n{calls}    tie_0(ship)\n{ties}"}))
    for limit, expected in ((0, []), (2, ["tie_0", "tie_1"]), (9, [f"tie_{n}" for n in range(5)])):
        edges = references.meant("port.py", 0, 7, limit)
        assert [each.name for each in edges.found if each.target is not None] == expected


def test_edges_give_reasons_and_descending_confidence(opened: Open) -> None:
    files = WORKSPACES["python: an alias, a re-export and a method by the type of its receiver"].files
    edges = callers(opened(files), "Harbour.moor")
    assert all(each.via and 0 < each.confidence <= 1 for each in edges.found)
    assert [each.confidence for each in edges.found] == sorted(
        (each.confidence for each in edges.found), reverse=True
    )


def test_callees_come_in_the_order_of_the_text(opened: Open) -> None:
    folder = opened(
        {
            "a.py": "def one():\n    pass\n\n\ndef two():\n    pass\n\n\ndef both():\n    two()\n    one()\n    print(1)\n"  # noqa: E501
        }
    )
    references = graph(folder)
    edges = references.callees(references.named("both")[0], 10)
    assert [(each.name, each.target.line if each.target else None) for each in edges.found] == [
        ("two", 4), ("one", 0), ("print", None),
    ]  # fmt: skip


def test_implementations_extend_types_or_override_methods(opened: Open) -> None:
    folder = opened(
        {
            "a.py": "class Base:\n    def run(self):\n        pass\n",
            "b.py": "from a import Base\n\n\nclass Heir(Base):\n    def run(self):\n        pass\n",
        }
    )
    references = graph(folder)
    of_type = references.implementations(references.named("Base"), 10)
    assert [each.enclosing.qualified for each in of_type.found if each.enclosing] == ["Heir"]
    of_method = references.implementations(references.named("Base.run"), 10)
    assert [each.enclosing.qualified for each in of_method.found if each.enclosing] == ["Heir.run"]


def test_tests_reach_a_function_through_another(opened: Open) -> None:
    folder = opened(
        {
            "ropes.py": "def knot():\n    pass\n\n\ndef tie():\n    knot()\n",
            "tests/test_ropes.py": "from ropes import tie\n\n\ndef test_tie():\n    tie()\n",
        }
    )
    references = graph(folder)
    assert functions_of(references.tests(references.named("knot"), 10)) == {"tests/test_ropes.py test_tie"}


# --- changes ----------------------------------------------------------------------------------------------


def test_unsaved_calls_count(opened: Open) -> None:
    folder = opened({"a.py": "def knot():\n    pass\n", "b.py": "import a\n"})
    assert functions_of(callers(folder, "knot")) == set()
    folder.type("b.py", "import a\n\n\ndef tie():\n    a.knot()\n")
    assert functions_of(callers(folder, "knot")) == {"b.py tie"}


def test_saved_calls_count_while_their_file_exists(opened: Open) -> None:
    folder = opened({"a.py": "def knot():\n    pass\n", "b.py": "import a\n"})
    folder.save({"b.py": "import a\n\n\ndef tie():\n    a.knot()\n"})
    assert functions_of(callers(folder, "knot")) == {"b.py tie"}
    (folder.root / "b.py").unlink()
    folder.index()
    assert functions_of(callers(folder, "knot")) == set()
    assert folder.reader.select("SELECT count(*) FROM symbols")[0][0] == 1


# --- large, circular or broken code ----------------------------------------------------------------------


def test_a_file_of_many_definitions_has_callers(opened: Open) -> None:
    made = "".join(f"def f{number}():\n    return f{number - 1}()\n\n\n" for number in range(1, 5_001))
    folder = opened(
        {
            "made.py": f"def f0():\n    pass\n\n\n{made}",
            "app.py": "import made\n\n\ndef go():\n    made.f7()\n",
        }
    )
    assert functions_of(callers(folder, "f7")) == {"app.py go", "made.py f8"}


def test_a_name_of_many_definitions_resolves_by_type(opened: Open) -> None:
    files = {
        f"src/m{folder}.py": "".join(
            f"class C{folder}x{number}:\n    def get(self):\n        return self.get()\n\n\n"
            for number in range(50)
        )
        for folder in range(20)
    }
    files["app.py"] = (
        "from src.m7 import C7x3\n\n\ndef go(something):\n    C7x3().get()\n    something.get()\n"
    )
    edges = callers(opened(files), "C7x3.get")
    assert functions_of(edges) == {"src/m7.py C7x3.get", "app.py go"}
    unsure = [each for each in edges.found if each.path == "app.py" and each.confidence < SURE]
    assert all(each.confidence < 0.1 for each in unsure)


def test_recursion_and_circular_imports_end(opened: Open) -> None:
    folder = opened(
        {
            "a.py": "from b import *\nfrom b import pong\n\n\ndef ping(n):\n    return pong(n) or ping(n - 1)\n",  # noqa: E501
            "b.py": "from a import *\nfrom a import ping\n\n\nclass A(B):\n    pass\n\n\nclass B(A):\n"
            "    def pong(self):\n        return self.missing()\n\n\ndef pong(n):\n    return ping(n)\n",
        }
    )
    assert functions_of(callers(folder, "ping")) == {"a.py ping", "b.py pong"}
    references = graph(folder)
    assert references.callees(references.named("B.pong")[0], 10).found[0].target is None


def test_a_file_with_syntax_errors_has_callers(opened: Open) -> None:
    folder = opened(
        {
            "a.py": "def knot():\n    pass\n",
            "b.py": "from a import knot\n\n\ndef tie():\n    knot()\n\n\ndef broken(:\n    x = (\n",
        }
    )
    assert "b.py tie" in functions_of(callers(folder, "knot"))
