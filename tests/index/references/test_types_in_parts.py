"""Callers are found through types in several files, bounds of type parameters, and namespaces."""

from __future__ import annotations

import pytest
from tests.index.references.workspaces import Open, Workspace, callers, functions_of

_PORT = {
    "Port.cs": "namespace Demo {\n  public class Base { public void Moor() {} }\n}\n",
    "A.cs": "namespace Demo {\n  public partial class Ferry : Base { Base next; public Base Other { get; } }\n}\n",  # noqa: E501
    "B.cs": "namespace Demo {\n  public partial class Ferry {\n    void Bare() { Moor(); }\n"
    "    void This() { this.Moor(); }\n    void Field() { next.Moor(); }\n    void Property() { this.Other.Moor(); }\n"  # noqa: E501
    "  }\n  class Car { public void Moor() {} void Drive() { Moor(); } }\n}\n",
    "C.cs": "namespace Demo {\n  class Pier { void Land(Ferry other) { other.Moor(); } }\n}\n",
    "D.cs": "namespace Else {\n  class Ferry { void Leave() { Moor(); } }\n}\n",
}
PARTS = {
    "csharp: a member that another part defines": Workspace(
        "Ferry.Moor",
        {
            "A.cs": "namespace Demo {\n  public partial class Ferry { public void Moor() {} }\n}\n",
            "B.cs": "namespace Demo {\n  public partial class Ferry {\n    void Land() { Moor(); }\n"
            "    void Wait() { this.Moor(); }\n    void Tow(Ferry other) { other.Moor(); }\n  }\n}\n",
            "C.cs": "namespace Else {\n  class Ferry { void Land() { Moor(); } }\n}\n",
        },
        {"B.cs Ferry.Land", "B.cs Ferry.Wait", "B.cs Ferry.Tow"},
    ),
    "csharp: bases, fields and properties of another part": Workspace(
        "Base.Moor",
        _PORT,
        {
            "B.cs Ferry.Bare",
            "B.cs Ferry.This",
            "B.cs Ferry.Field",
            "B.cs Ferry.Property",
            "C.cs Pier.Land",
        },
    ),
    "ruby: a class that another file opens again": Workspace(
        "Ferry.moor",
        {
            "a.rb": "module Port\n  class Ferry\n    def moor(x)\n      x\n    end\n  end\nend\n",
            "b.rb": "module Port\n  class Ferry\n    def land\n      moor(1)\n    end\n\n    def wait\n      self.moor(2)\n    end\n"  # noqa: E501
            "  end\n\n  class Car\n    def moor(x)\n    end\n\n    def drive\n      moor(3)\n    end\n  end\nend\n",  # noqa: E501
        },
        {"b.rb Port.Ferry.land", "b.rb Port.Ferry.wait"},
    ),
    "ruby: a module that another file opens again": Workspace(
        "moor",
        {
            "a.rb": "module Port\n  def self.moor(x)\n    x\n  end\nend\n",
            "b.rb": "module Port\n  def self.land\n    moor(1)\n  end\nend\n\ndef wait\n  Port.moor(2)\nend\n",  # noqa: E501
        },
        {"b.rb Port.land", "b.rb wait"},
    ),
}
_RUST = (
    "pub trait Mooring { fn moor(&self) -> u32; }\npub trait Named { fn name(&self) -> u32; }\n"
    "pub fn by_bound<M: Mooring>(m: &M) -> u32 { m.moor() }\n"
    "pub fn by_two<M: Named + Mooring>(m: &M) -> u32 { m.moor() }\n"
    "pub fn by_where<M>(m: &M) -> u32 where M: Mooring + Named { m.moor() }\n"
    "pub fn by_impl(m: impl Mooring) -> u32 { m.moor() }\n"
    "pub struct Dock<M: Mooring> { ship: M }\nimpl<M: Mooring> Dock<M> {\n    fn by_field(&self) -> u32 { self.ship.moor() }\n}\n"  # noqa: E501
    "pub struct Car;\nimpl Car { fn moor(&self) -> u32 { 1 } }\npub fn drive(c: &Car) -> u32 { c.moor() }\n"
)
BOUNDS = {
    "rust: bounds of functions and types": Workspace(
        "Mooring.moor",
        {"src/lib.rs": _RUST},
        {f"src/lib.rs {each}" for each in ("by_bound", "by_two", "by_where", "by_impl", "Dock.by_field")},
    ),
    "typescript: a type parameter that extends a class": Workspace(
        "Ship.moor",
        {
            "ship.ts": "export class Ship {\n  moor() {}\n}\nexport class Car {\n  moor() {}\n}\n",
            "app.ts": 'import { Car, Ship } from "./ship";\n\nexport function land<T extends Ship>(t: T) {\n  t.moor();\n}\n'  # noqa: E501
            "class Dock<T extends Ship> {\n  tie(t: T) {\n    t.moor();\n  }\n}\n"
            "function drive<T extends Car>(t: T) {\n  t.moor();\n}\n",
        },
        {"app.ts land", "app.ts Dock.tie"},
    ),
    "java: two bounds": Workspace(
        "Ship.moor",
        {
            "p/Ship.java": "package p;\npublic interface Ship { void moor(); }\n",
            "p/Named.java": "package p;\npublic interface Named { }\n",
            "p/Car.java": "package p;\npublic class Car { void moor() {} }\n",
            "p/App.java": "package p;\nclass App<E extends Ship> {\n  <T extends Named & Ship> void land(T t) { t.moor(); }\n"  # noqa: E501
            "  void tie(E e) { e.moor(); }\n  <T extends Car> void drive(T t) { t.moor(); }\n}\n",
        },
        {"p/App.java App.land", "p/App.java App.tie"},
    ),
    "kotlin: bounds and where": Workspace(
        "Ship.moor",
        {
            "Ship.kt": "package p\n\ninterface Ship {\n    fun moor()\n}\n\nclass Car {\n    fun moor() {}\n}\n",  # noqa: E501
            "App.kt": "package p\n\nfun <T : Ship> land(t: T) {\n    t.moor()\n}\n\nfun <T> wait(t: T) where T : Ship {\n    t.moor()\n}\n"  # noqa: E501
            "\nfun <T : Car> drive(t: T) {\n    t.moor()\n}\n",
        },
        {"App.kt land", "App.kt wait"},
    ),
    "csharp: a constraint": Workspace(
        "IShip.Moor",
        {
            "A.cs": "namespace P {\n  interface IShip { void Moor(); }\n  class Car { public void Moor() {} }\n}\n",  # noqa: E501
            "B.cs": "namespace P {\n  class App {\n    void Land<T>(T t) where T : class, IShip { t.Moor(); }\n"  # noqa: E501
            "    void Drive<T>(T t) where T : Car { t.Moor(); }\n  }\n}\n",
        },
        {"B.cs App.Land"},
    ),
    "swift: a protocol after the name and after where": Workspace(
        "Ship.moor",
        {
            "Ship.swift": "protocol Ship {\n    func moor()\n}\n\nclass Car {\n    func moor() {}\n}\n",
            "App.swift": "func land<T: Ship>(t: T) {\n    t.moor()\n}\n\nfunc wait<T>(t: T) where T: Ship {\n    t.moor()\n}\n"  # noqa: E501
            "\nfunc drive<T: Car>(t: T) {\n    t.moor()\n}\n",
        },
        {"App.swift land", "App.swift wait"},
    ),
    "go: a constraint": Workspace(
        "Ship.Moor",
        {
            "go.mod": "module example.org/p\n",
            "a.go": "package p\n\ntype Ship interface {\n\tMoor()\n\tSail()\n}\n\ntype Car struct{}\n\nfunc (c Car) Moor() {}\n",  # noqa: E501
            "b.go": "package p\n\nfunc Land[T Ship](t T) {\n\tt.Moor()\n}\n\nfunc Drive[T Car](t T) {\n\tt.Moor()\n}\n",  # noqa: E501
        },
        {"b.go Land"},
    ),
    "scala: an upper bound": Workspace(
        "Ship.moor",
        {
            "A.scala": "package p\n\ntrait Ship {\n  def moor(): Int\n}\n\nclass Car {\n  def moor(): Int = 1\n}\n",  # noqa: E501
            "B.scala": "package p\n\nobject App {\n  def land[T <: Ship](t: T) = t.moor()\n\n  def drive[T <: Car](t: T) = t.moor()\n}\n",  # noqa: E501
        },
        {"B.scala App.land"},
    ),
    "python: a bound of a TypeVar and of a type parameter": Workspace(
        "Ship.moor",
        {
            "ship.py": "class Ship:\n    def moor(self):\n        pass\n\n\nclass Car:\n    def moor(self):\n        pass\n",  # noqa: E501
            "app.py": 'from typing import TypeVar\n\nfrom ship import Car, Ship\n\nT = TypeVar("T", bound=Ship)\n\n\n'  # noqa: E501
            "def land(t: T):\n    t.moor()\n\n\ndef wait[U: Ship](u: U):\n    u.moor()\n\n\ndef drive[V: Car](v: V):\n    v.moor()\n",  # noqa: E501
        },
        {"app.py land", "app.py wait"},
    ),
    "cpp: a concept, which only the name of the member tells": Workspace(
        "Ship::moor",
        {
            "ship.hpp": "template <typename T> concept Moorable = true;\nstruct Ship { void moor(); };\n",
            "ship.cpp": '#include "ship.hpp"\nvoid Ship::moor() {}\n',
            "app.cpp": '#include "ship.hpp"\ntemplate <Moorable T> void land(T& t) { t.moor(); }\n'
            "template <typename T> requires Moorable<T> void wait(T t) { t.moor(); }\n"
            "void tie(Moorable auto t) { t.moor(); }\n",
        },
        {"app.cpp land", "app.cpp wait", "app.cpp tie"},
    ),
}
_CPP = {
    "core.h": "namespace ferry { namespace detail {\nbool moor(int fd);\n} }\nnamespace car { namespace detail {\nbool moor(int fd);\n} }\n",  # noqa: E501
    "core.cc": '#include "core.h"\nnamespace ferry::detail {\nbool moor(int fd) { return fd; }\n}\n',
    "car.cc": '#include "core.h"\nnamespace car { namespace detail {\nbool moor(int fd) { return !fd; }\n} '
    "\nbool drive() { return detail::moor(1); }\n}\n",
    "log.h": '#include "core.h"\nnamespace ferry {\ninline bool log() { return detail::moor(1); }\n}\n',
    "app.cc": '#include "core.h"\nnamespace fd = ferry::detail;\nbool land() { return ferry::detail::moor(1); }\n'  # noqa: E501
    "bool wait() { return fd::moor(2); }\nbool root() { return ::ferry::detail::moor(3); }\n"
    "using ferry::detail::moor;\n",
}
NAMESPACES = {
    "cpp: a namespace before the name": Workspace(
        "moor", _CPP, {"log.h log", "app.cc land", "app.cc wait", "app.cc root"}
    ),
    "rust: a module in the same file": Workspace(
        "moor",
        {"src/lib.rs": "mod detail {\n    pub fn moor() {}\n}\npub fn land() { detail::moor(); }\nmod other {\n    pub fn moor() {}\n}\n"},  # noqa: E501
        {"src/lib.rs land"},
    ),
    "php: a namespace before the name": Workspace(
        "moor",
        {
            "a.php": "<?php\nnamespace App\\Port;\nfunction moor($x) { return $x; }\n",
            "b.php": "<?php\nnamespace App;\nfunction land() { return Port\\moor(1); }\nfunction wait() { return \\App\\Port\\moor(1); }\n",  # noqa: E501
            "c.php": "<?php\nnamespace Car;\nfunction moor($x) { return $x; }\nfunction drive() { return moor(1); }\n",  # noqa: E501
        },
        {"b.php land", "b.php wait"},
    ),
    "csharp: a static class with and without its namespace": Workspace(
        "Port.Moor",
        {
            "A.cs": "namespace Demo.Docks {\n  static class Port { public static void Moor() {} }\n}\n",
            "B.cs": "using Demo.Docks;\nnamespace Demo {\n  class App {\n    void Land() { Port.Moor(); }\n"
            "    void Wait() { Demo.Docks.Port.Moor(); }\n  }\n}\n",
        },
        {"B.cs App.Land", "B.cs App.Wait"},
    ),
    "typescript: a namespace": Workspace(
        "moor",
        {
            "port.ts": "export namespace Port {\n  export function moor() {}\n  export function tie() {\n    moor();\n  }\n}\n",  # noqa: E501
            "app.ts": 'import { Port } from "./port";\n\nfunction land() {\n  Port.moor();\n}\n',
        },
        {"port.ts Port.tie", "app.ts land"},
    ),
}  # fmt: skip
EVERY = {**PARTS, **BOUNDS, **NAMESPACES}


@pytest.mark.parametrize("workspace", EVERY.values(), ids=EVERY)
def test_types_in_parts_bounds_and_namespaces_lead_to_callers(opened: Open, workspace: Workspace) -> None:
    folder = opened(workspace.files)
    path = "core.cc" if "core.cc" in workspace.files else ""
    if "a.php" in workspace.files:
        path = "a.php"
    assert functions_of(callers(folder, workspace.symbol, path)) == workspace.callers
