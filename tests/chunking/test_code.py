"""Code: what is found in each language, and how it is put into chunks."""

import pytest

from cairn.chunking.chunker import chunk_text
from cairn.chunking.model import Chunk
from cairn.chunking.outline import MAXIMUM
from cairn.chunking.packing import MINIMUM
from cairn.protocol.chunk_type import ChunkType

# path, text, names defined in order, then of the chunk: title, symbol's kind, signature, comment.
_LANGUAGES = {
    "python": (
        "ships.py",
        '"""Ships of the port."""\n\nLIMIT: int = 3\n__all__ = ["moor"]\n\n\n@cached(ttl=1)\nasync def moor(ship: Ship, *, '
        'quick: bool = False) -> Berth:\n    """Moors a ship."""\n    return await find(ship)\n',
        ("LIMIT", "moor"),
        ("moor", "function", "async def moor(ship: Ship, *, quick: bool = False) -> Berth", "Moors a ship."),
    ),
    "python class": (
        "ships.py",
        "@dataclass\nclass Ship(Vessel, metaclass=Meta):\n    # how long, in metres\n    length: float\n\n"
        "    @property\n    def name(self): ...\n\n    class Crew:\n        def size(self): ...\n",
        ("Ship", "length", "name", "Crew", "size"),
        ("Ship", "class", "class Ship(Vessel, metaclass=Meta)", ""),
    ),
    "javascript": (
        "ships.js",
        "const http = require('http')\n\n/**\n * Moors a ship.\n */\nexport const moor = async (ship) => {\n  return 1\n}\n"
        "module.exports.unmoor = function () {}\nShip.prototype.sail = function sail() {}\n"
        "app.handle = function handle(req) {}\nexports.LIMIT = 3\nmodule.exports = class Port {}\n",
        ("moor", "unmoor", "sail", "handle", "LIMIT", "Port"),
        ("moor", "function", "export const moor = async (ship) =>", "Moors a ship."),
    ),
    "typescript": (
        "ships.ts",
        "/** A ship. */\nexport abstract class Ship<T> extends Vessel implements Named {\n"
        "  private length: number = 1;\n  static of = () => new Ship();\n  constructor(a: T) { super() }\n"
        "  abstract sail(): void;\n  @log() get name(): string { return '' }\n}\n",
        ("Ship", "length", "of", "constructor", "sail", "name"),
        ("Ship", "class", "export abstract class Ship<T> extends Vessel implements Named", "A ship."),
    ),
    "typescript types": (
        "types.ts",
        "export interface Named { name: string; rename(to: string): void }\nexport type Id = string | number;\n"
        "enum Kind { A, B }\ndeclare module 'x' { function g(): void }\nfunction over(a: string): void;\n",
        ("Named", "rename", "Id", "Kind", "'x'", "g", "over"),
        ("Named", "interface", "export interface Named", ""),
    ),
    "tsx": (
        "Berth.tsx",
        "// Shows a berth.\nexport default function Berth({ ship }: Props) {\n  return <div>{ship}</div>\n}\n"
        "export const Fleet = memo(() => <ul />)\n",
        ("Berth", "Fleet"),
        ("Berth", "function", "export default function Berth({ ship }: Props)", "Shows a berth."),
    ),
    "go": (
        "ships.go",
        "// Package ships moors.\npackage ships\n\n// Moor moors a ship.\nfunc (p *Port[T]) Moor(s Ship) (b Berth, err error) {\n"
        "\treturn b, nil\n}\n",
        ("Moor",),
        ("Port.Moor", "method", "func (p *Port[T]) Moor(s Ship) (b Berth, err error)", "Moor moors a ship."),
    ),
    "go types": (
        "ships.go",
        "package ships\n\ntype (\n\tNamed interface { Name() string }\n\tId = int\n)\n\n// Ship sails.\ntype Ship struct {\n"
        '\tlength int\n\tname string\n\towner string\n\tport string\n}\n\nconst (\n\tA = iota\n\tB\n)\n\nvar ErrLost = errors.New("lost")\n',
        ("Named", "Name", "Id", "Ship", "A", "B", "ErrLost"),
        ("Ship", "struct", "type Ship struct", "Ship sails."),
    ),
    "rust": (
        "ships.rs",
        "//! Ships of the port.\nuse std::fmt;\nmod berths;\n\n/// A ship.\n#[derive(Debug)]\npub struct Ship<T> {\n    length: T,\n}\n\n"
        "impl<T: Clone> Ship<T> {\n    /// Sails.\n    pub fn sail(&self) -> bool { true }\n}\n",
        ("Ship", "sail"),
        ("Ship", "struct", "pub struct Ship<T>", "A ship."),
    ),
    "rust impl": (
        "ships.rs",
        "impl fmt::Display for port::Ship<u8> {\n    fn fmt(&self, f: &mut Formatter) -> Result { Ok(()) }\n}\n",
        ("fmt",),
        ("Ship", "impl", "impl fmt::Display for port::Ship<u8>", ""),
    ),
    "rust items": (
        "ships.rs",
        "pub trait Sail { fn sail(&self); }\nenum Kind { A }\nmacro_rules! moor { () => {} }\npub(crate) static MAX: u8 = 1;\n"
        'const _: () = ();\ntype Id = u8;\nextern "C" { fn c_sail(); }\n',
        ("Sail", "sail", "Kind", "moor", "MAX", "Id", "c_sail"),
        ("Sail", "trait", "pub trait Sail", ""),
    ),
    "java": (
        "Ship.java",
        "package port;\nimport java.util.*;\n/** A ship. */\n@Deprecated\npublic final class Ship<T> extends Vessel {\n"
        "  private static final int MAX = 1;\n  public Ship() { }\n  @Override public <R> R sail(int knots) throws Storm { return null; }\n"
        "  enum Kind { A, B; void x() {} }\n}\n",
        ("Ship", "MAX", "sail", "Kind", "x"),
        ("Ship", "class", "public final class Ship<T> extends Vessel", "A ship."),
    ),
    "kotlin": (
        "Ship.kt",
        'package port\n/** A ship. */\n@Serializable\nsealed class Ship<T>(val length: Int) : Vessel() {\n  val name = ""\n'
        "  fun sail(knots: Int): Boolean = true\n  companion object { const val MAX = 1 }\n}\n\n"
        "fun String.toShip(): Ship { return Ship(1) }\ninterface Named {\n  fun rename()\n}\ntypealias Id = Int\n",
        ("Ship", "name", "sail", "MAX", "toShip", "Named", "rename", "Id"),
        ("Ship", "class", "sealed class Ship<T>(val length: Int) : Vessel()", "A ship."),
    ),
    "c": (
        "ship.c",
        "#include <stdio.h>\n#define LIMIT 3\n#define SQUARE(x) ((x)*(x))\nstatic int forward(int a);\nint ship_count(void);\n\n"
        "/* Moors a ship. */\nstatic struct berth *ship_moor(struct ship *s, int quick) {\n  return find(s);\n}\n"
        "typedef struct { int b; } berth_t;\ntypedef int (*sail_cb)(int);\nenum kind { A, B };\n",
        ("LIMIT", "SQUARE", "ship_count", "ship_moor", "berth_t", "sail_cb", "kind"),
        (
            "ship_moor",
            "function",
            "static struct berth *ship_moor(struct ship *s, int quick)",
            "Moors a ship.",
        ),
    ),
    "c header": (
        "ship.h",
        "#ifndef SHIP_H\n#define SHIP_H\n#ifdef WIDE\nstruct ship {\n  int length;\n};\n#endif\nint ship_moor(struct ship *s);\n#endif\n",
        ("ship", "ship_moor"),
        ("ship", "struct", "struct ship", ""),
    ),
    "cpp": (
        "ship.cpp",
        "namespace port {\ntemplate <typename T> class Ship : public Vessel {\n public:\n  Ship() : length_(1) {}\n  ~Ship();\n"
        "  int sail(int knots) const override { return 1; }\n  bool operator==(const Ship& o) const;\n private:\n  int length_;\n};\n"
        "using Id = int;\n}\n",
        ("Ship", "~Ship", "sail", "operator==", "Id"),
        ("Ship", "class", "template <typename T> class Ship : public Vessel", ""),
    ),
    "cpp method": (
        "ship.cpp",
        "// Sails away.\nint port::Ship<int>::sail(int knots) { return 1; }\n",
        ("sail",),
        ("Ship::sail", "method", "int port::Ship<int>::sail(int knots)", "Sails away."),
    ),
    "csharp": (
        "Ship.cs",
        "using System;\nnamespace Port.Ships;\n/// <summary>A ship.</summary>\n[Serializable]\npublic sealed class Ship<T> : Vessel where T : class {\n"
        "  public const int Max = 1;\n  public Ship() { }\n  public int Length { get; set; }\n  public async Task<int> Sail(int knots) => 1;\n}\n",
        ("Ship", "Max", "Length", "Sail"),
        ("Ship", "class", "public sealed class Ship<T> : Vessel where T : class", "A ship."),
    ),
    "ruby": (
        "ship.rb",
        "require 'set'\n# A ship.\nclass Port::Ship < Vessel\n  MAX = 1\n  # Sails.\n  def sail(knots, quick = true)\n    1\n  end\n"
        "  def self.build; end\n  class << self\n    def load; end\n  end\n  private\n  def hidden?; end\n  define_method(:dynamic) { }\nend\n",
        ("Ship", "MAX", "sail", "build", "load", "hidden?", "dynamic"),
        ("Port::Ship", "class", "class Port::Ship < Vessel", "A ship."),
    ),
    "php": (
        "Ship.php",
        "<?php\nnamespace Port;\n/** A ship. */\n#[Entity]\nabstract class Ship extends Vessel implements Named {\n  const MAX = 1;\n"
        "  private $length = 1;\n  public function __construct(private int $a) {}\n  abstract protected function sail(): int;\n}\nfunction moor($ship) { }\n",
        ("Ship", "MAX", "length", "__construct", "sail", "moor"),
        ("Ship", "class", "abstract class Ship extends Vessel implements Named", "A ship."),
    ),
    "swift": (
        "Ship.swift",
        "import Foundation\n/// A ship.\n@objc public final class Ship<T>: Vessel {\n  let length: Int = 1\n  init(a: Int) { }\n"
        "  func sail(_ knots: Int) -> Int { 1 }\n}\nextension Port: Named { func moor() {} }\nprotocol Named { var name: String { get } }\n",
        ("Ship", "length", "init", "sail", "moor", "Named", "name"),
        ("Ship", "class", "public final class Ship<T>: Vessel", "A ship."),
    ),
    "scala": (
        "Ship.scala",
        'package port\n/** A ship. */\ncase class Ship[T](length: Int) extends Vessel {\n  val name = ""\n  def sail(knots: Int): Int = { 1 }\n}\n'
        "object Ship { def apply(): Ship = new Ship(1) }\ntrait Named { def name: String }\n",
        ("Ship", "name", "sail", "apply", "Named"),
        ("Ship", "class", "case class Ship[T](length: Int) extends Vessel", "A ship."),
    ),
    "elixir": (
        "ship.ex",
        'defmodule Port.Ship do\n  @moduledoc """\n  A ship.\n  """\n  @type t :: map\n  @doc "Sails."\n  @spec sail(t) :: t\n'
        "  def sail(ship) when is_map(ship) do\n    ship\n  end\n  def sail(_), do: nil\n  defp hide, do: 1\n  defmacro moor(x) do\n    x\n  end\nend\n",
        ("Port.Ship", "t", "sail", "hide", "moor"),
        ("Port.Ship", "module", "defmodule Port.Ship", "A ship."),
    ),
    "lua": (
        "ship.lua",
        "local port = require('port')\nlocal M = {}\n-- Sails.\nfunction M.sail(knots)\n  return 1\nend\nfunction M:moor() end\nlocal function hide() end\n"
        "M.dock = function() end\nreturn M\n",
        ("M", "sail", "moor", "hide", "dock"),
        ("M.sail", "function", "function M.sail(knots)", "Sails."),
    ),
    "bash": (
        "ship.sh",
        '#!/bin/bash\n# Ships of the port.\n\nset -e\nLIMIT=3\n\n# Moors a ship.\nmoor() {\n  echo "$1"\n}\nfunction sail { echo; }\n',
        ("LIMIT", "moor", "sail"),
        ("moor", "function", "moor()", "Moors a ship."),
    ),
    "haskell": (
        "Ship.hs",
        "module Port.Ship where\nimport Data.List\n-- | Sails.\nsail :: Int -> Int\nsail 0 = 1\nsail n = n\ndata Ship = Ship { length :: Int } deriving Show\n"
        'class Named a where\n  name :: a -> String\ninstance Named Ship where\n  name _ = ""\n',
        ("sail", "Ship", "Named", "name"),
        ("Named", "interface", "class Named a where", ""),
    ),
    "dart": (
        "ship.dart",
        "import 'x.dart';\n/// A ship.\n@immutable\nabstract class Ship<T> extends Vessel {\n  final int length;\n  Ship(this.length);\n"
        "  Ship.small() : length = 1;\n  int sail(int knots) { return 1; }\n  int get weight => 1;\n}\nvoid moor() async { }\nconst limit = 1;\n",
        ("Ship", "length", "small", "sail", "weight", "moor", "limit"),
        ("Ship", "class", "abstract class Ship<T> extends Vessel", "A ship."),
    ),
    "zig": (
        "ship.zig",
        'const std = @import("std");\n/// A ship.\npub const Ship = struct {\n    length: u8,\n    pub fn sail(self: *Ship) void { }\n};\n'
        "pub fn moor(a: u8) !void { }\n",
        ("Ship", "sail", "moor"),
        ("Ship", "struct", "pub const Ship = struct", "A ship."),
    ),
    "objc": (
        "Ship.m",
        '#import "Ship.h"\n@implementation Ship\n// Sails.\n- (void)sail:(int)knots with:(int)crew {\n}\n+ (id)shared { return nil; }\n@end\n',
        ("sail:with:", "shared"),
        ("Ship", "impl", "@implementation Ship", ""),
    ),
    "perl": (
        "Ship.pm",
        "package Port::Ship;\nuse strict;\n# Sails.\nsub sail {\n  my $knots = shift;\n}\n1;\n",
        ("Port::Ship", "sail"),
        ("sail", "function", "sub sail", "Sails."),
    ),
    "r": (
        "ship.R",
        "#' Sails.\nsail <- function(knots, crew) {\n  1\n}\nlimit <- 3\n",
        ("sail", "limit"),
        ("sail", "function", "sail <- function(knots, crew)", "Sails."),
    ),
    "julia": (
        "ship.jl",
        "struct Ship{T}\n  length::T\nend\n\n# Sails.\nfunction sail(s::Ship, knots)\n  1\nend\nweight(s) = 1\n",
        ("Ship", "sail", "weight"),
        ("Ship", "struct", "struct Ship{T}", ""),
    ),
    "ocaml": (
        "ship.ml",
        "(** Sails. *)\nlet sail knots = 1\ntype ship = Big | Small\nmodule Port = struct\n  let moor x = 1\nend\n",
        ("sail", "ship", "Port", "moor"),
        ("sail", "function", "let sail knots", "Sails."),
    ),
    "clojure": (
        "ship.clj",
        '(ns port.ship)\n(defn sail\n  "Sails."\n  [knots]\n  1)\n(def limit 3)\n',
        ("port.ship", "sail", "limit"),
        ("sail", "function", '(defn sail "Sails." [knots]', "Sails."),
    ),
    "erlang": (
        "ship.erl",
        "-module(ship).\n%% Sails.\n-spec sail(X) -> X.\nsail(0) -> 1;\nsail(X) -> X.\n-record(crew, {size}).\n",
        ("ship", "sail", "crew"),
        ("sail", "function", "-spec sail(X) -> X.", "Sails."),
    ),
    "sql": (
        "ship.sql",
        "-- All ships.\nCREATE TABLE IF NOT EXISTS port.ships (id int primary key, name text);\nCREATE VIEW big AS SELECT 1;\n",
        ("ships", "big"),
        ("port.ships", "table", "CREATE TABLE IF NOT EXISTS port.ships", "All ships."),
    ),
    "hcl": (
        "main.tf",
        '# A server.\nresource "aws_instance" "web" {\n  ami = 1\n}\nvariable "zone" { default = 1 }\n',
        ("web", "zone"),
        ("aws_instance.web", "resource", 'resource "aws_instance" "web"', "A server."),
    ),
    "vue": (
        "Berth.vue",
        '<template>\n  <div/>\n</template>\n\n<script setup lang="ts">\n/** Moors. */\nfunction moor(ship: Ship) {\n  return ship\n}\n</script>\n',
        ("moor",),
        ("moor", "function", "function moor(ship: Ship)", "Moors."),
    ),
    "groovy": (
        "Ship.groovy",
        "package port\n\n/** A ship. */\nclass Ship extends Vessel {\n  /** Sails. */\n  def sail(knots) { 1 }\n"
        "  def 'it sails'() { expect: 1 }\n}\n",
        ("Ship", "sail"),
        ("Ship", "class", "class Ship extends Vessel", "A ship."),
    ),
    "no grammar": (
        "Ship.hx",
        "package port;\n/** A ship. */\nclass Ship extends Vessel {\n  function sail(knots) { return 1; }\n}\n",
        ("Ship", "sail"),
        ("Ship", "class", "class Ship extends Vessel", ""),
    ),
}


@pytest.mark.parametrize(("path", "text", "defines", "main"), _LANGUAGES.values(), ids=_LANGUAGES)
def test_definitions_are_found_and_described(
    path: str, text: str, defines: tuple[str, ...], main: tuple[str, str, str, str]
) -> None:
    (chunk,) = chunk_text(path, text)
    assert chunk.defines == defines
    assert (chunk.title, chunk.symbol_kind, chunk.signature, chunk.comment) == main
    assert chunk.signature in " ".join(chunk.text.split())


# A class with methods of about 600 characters each: head, methods, and a function after it.
_LARGE_CLASSES = {
    "python": (
        "ships.py",
        'class Ship(Vessel):\n    """A ship."""\n\n    length = 1\n\n{0}\n{1}\n{2}\ndef moor(ship):\n{filler}',
        "    # Says {0}.\n    @log\n    def {0}(self):\n{filler}",
        "        self.remember(self.position, 'a word')\n",
        "Ship.{0}",
    ),
    "typescript": (
        "ships.ts",
        "/** A ship. */\nexport class Ship {{\n  length = 1;\n\n{0}\n{1}\n{2}}}\n\nfunction moor(ship: Ship) {{\n{filler}}}\n",
        "  // Says {0}.\n  {0}(): void {{\n{filler}  }}\n",
        "    this.remember(this.position, 'a word');\n",
        "Ship.{0}",
    ),
    "java": (
        "Ship.java",
        "/** A ship. */\npublic class Ship {{\n  int length = 1;\n\n{0}\n{1}\n{2}}}\n",
        "  /** Says {0}. */\n  @Override\n  public void {0}() {{\n{filler}  }}\n",
        '    this.remember(this.position, "a word");\n',
        "Ship.{0}",
    ),
    "rust": (
        "ship.rs",
        "/// A ship.\npub struct Ship;\n\nimpl Ship {{\n{0}\n{1}\n{2}}}\n\nfn moor(ship: Ship) {{\n{filler}}}\n",
        "    /// Says {0}.\n    #[inline]\n    pub fn {0}(&self) {{\n{filler}    }}\n",
        "        self.remember(self.position, 1);\n",
        "Ship::{0}",
    ),
    "ruby": (
        "ship.rb",
        "# A ship.\nclass Ship\n  attr_reader :length\n\n{0}\n{1}\n{2}end\n",
        "  # Says {0}.\n  def {0}\n{filler}  end\n",
        "    remember(position, 'a word')\n",
        "Ship::{0}",
    ),
    "cpp": (
        "ship.cpp",
        "// A ship.\nclass Ship {{\n public:\n  int length;\n\n{0}\n{1}\n{2}}};\n",
        "  // Says {0}.\n  void {0}() {{\n{filler}  }}\n",
        "    this->remember(this->position, 1);\n",
        "Ship::{0}",
    ),
    "swift": (
        "Ship.swift",
        "/// A ship.\npublic class Ship {{\n  var length = 1\n\n{0}\n{1}\n{2}}}\n",
        "  /// Says {0}.\n  @discardableResult\n  func {0}() {{\n{filler}  }}\n",
        "    self.remember(self.position, 1)\n",
        "Ship.{0}",
    ),
    "dart": (
        "ship.dart",
        "/// A ship.\nclass Ship {{\n  int length = 1;\n\n{0}\n{1}\n{2}}}\n",
        "  /// Says {0}.\n  @override\n  void {0}() {{\n{filler}  }}\n",
        "    this.remember(this.position, 1);\n",
        "Ship.{0}",
    ),
    "elixir": (
        "ship.ex",
        "defmodule Ship do\n  use Vessel\n\n{0}\n{1}\n{2}end\n",
        '  @doc """\n  Says {0}.\n  """\n  def {0}(ship) do\n{filler}  end\n',
        "    remember(ship.position, :word)\n",
        "Ship.{0}",
    ),
}


def _large_class(template: str, method: str, filler: str, lines: int = 20) -> str:
    methods = [method.format(name, filler=filler * lines) for name in ("sail", "dock", "sink")]
    return template.format(*methods, filler=filler * lines)


@pytest.mark.parametrize(
    ("path", "template", "method", "filler", "title"), _LARGE_CLASSES.values(), ids=_LARGE_CLASSES
)
def test_a_large_class_is_cut_at_its_members(
    path: str, template: str, method: str, filler: str, title: str
) -> None:
    text = _large_class(template, method, filler)
    chunks = {chunk.symbol: chunk for chunk in chunk_text(path, text)}
    sink = chunks["sink"]
    assert sink.title == title.format("sink")
    assert (sink.parent, sink.header_path) == ("Ship", "Ship > sink")
    assert sink.comment == "Says sink."
    # The comment, the decorators and the whole body are there.
    assert method.format("sink", filler=filler * 20) in sink.text


@pytest.mark.parametrize(
    ("path", "template", "method", "filler", "title"), _LARGE_CLASSES.values(), ids=_LARGE_CLASSES
)
def test_a_giant_function_keeps_its_name_in_every_part(
    path: str, template: str, method: str, filler: str, title: str
) -> None:
    chunks = [
        chunk
        for chunk in chunk_text(path, _large_class(template, method, filler, lines=120))
        if chunk.title == title.format("dock")
    ]
    assert len(chunks) > 2
    assert {chunk.symbol for chunk in chunks} == {"dock"}
    assert [chunk.defines for chunk in chunks] == [("dock",), *[()] * (len(chunks) - 1)]
    assert all(not chunk.signature for chunk in chunks[1:])
    assert all(len(chunk.text) <= MAXIMUM + 250 for chunk in chunks)
    assert all(chunk.text.startswith(filler) for chunk in chunks[1:])


def test_small_neighbours_share_a_chunk() -> None:
    text = "".join(f"def step_{index}(value):\n    return value + {index}\n\n\n" for index in range(100))
    chunks = chunk_text("steps.py", text)
    assert all(MINIMUM <= len(chunk.text) <= MAXIMUM for chunk in chunks[:-1])
    assert [name for chunk in chunks for name in chunk.defines] == [f"step_{index}" for index in range(100)]
    assert chunks[0].symbol == "step_0"


def test_a_type_names_a_chunk_before_the_functions_around_it() -> None:
    text = "def build():\n    return Ship()\n\n\nclass Ship:\n    pass\n\n\nLIMIT = 3\n"
    assert chunk_text("ships.py", text)[0].symbol == "Ship"


def test_imports_are_a_chunk_of_their_own_called_after_the_file() -> None:
    imports = "".join(f"from harbour.part_{index} import thing_{index}\n" for index in range(12))
    text = (
        f'"""Ships of the port."""\n\n{imports}\nLIMIT = 3\n\n\ndef moor():\n    return {list(range(40))}\n'
    )
    preamble, moor = chunk_text("src/harbour/ships.py", text)
    assert (preamble.title, preamble.symbol, preamble.defines) == ("ships", "", ("LIMIT",))
    assert preamble.comment == "Ships of the port."
    assert moor.symbol == "moor"


def test_a_long_comment_goes_before_its_definition_under_the_same_name() -> None:
    comment = "".join(f"/// Line {index} of what there is to say about ships.\n" for index in range(25))
    body = "    remember(position);\n" * 40
    doc, function = chunk_text("ship.rs", f"use a;\n\n{comment}pub fn sail() {{\n{body}}}\n")[-2:]
    assert (doc.title, function.title) == ("sail", "sail")
    assert doc.defines == ()
    assert doc.text.endswith("about ships.\n")
    assert function.text.startswith("pub fn sail()")
    assert function.comment.startswith("Line 0 of what")


def test_nested_functions_of_a_long_function_are_found() -> None:
    inner = "".join(
        f"  function step{index}(value) {{\n{'    work(value);' * 20}\n    return value;\n  }}\n\n"
        for index in range(8)
    )
    chunks = chunk_text("factory.js", f"(function () {{\n  'use strict';\n\n{inner}}})();\n")
    assert {name for chunk in chunks for name in chunk.defines} == {f"step{index}" for index in range(8)}


def test_tests_have_titles_and_no_symbols() -> None:
    body = "    expect(1).toBe(1);\n" * 25
    cases = "".join(f"  it('does thing {index}', () => {{\n{body}  }});\n" for index in range(4))
    chunks = chunk_text("router.test.js", f"describe('router', () => {{\n{cases}}});\n")
    assert "router > does thing 2" in [chunk.header_path for chunk in chunks]
    assert all(not chunk.symbol and not chunk.defines for chunk in chunks)


def test_code_under_a_condition_counts() -> None:
    text = "try:\n    import fast\nexcept ImportError:\n    def slow(): ...\n\nif TYPE_CHECKING:\n    class Only: ...\n"
    assert chunk_text("a.py", text)[0].defines == ("slow", "Only")


def test_broken_code_keeps_what_can_be_read() -> None:
    text = "def whole():\n    return 1\n\n\ndef broken():\n    x = = 2\n    return (\n\n\ndef later(): ...\n"
    names = [name for chunk in chunk_text("a.py", text) for name in chunk.defines]
    assert "whole" in names
    assert "later" in names


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_other_line_ends_change_nothing_but_the_text(end: str) -> None:
    text = _large_class(*_LARGE_CLASSES["typescript"][1:4])
    chunks = chunk_text("a.ts", text)
    others = chunk_text("a.ts", text.replace("\n", end))

    def places(chunks: list[Chunk]) -> list[tuple[str, str, int, int]]:
        return [(chunk.title, chunk.signature, chunk.start_line, chunk.end_line) for chunk in chunks]

    if end == "\r":
        assert places(others) == places(chunks)
    assert [chunk.title for chunk in others] == [chunk.title for chunk in chunks]


@pytest.mark.parametrize(
    ("path", "text", "chunk_type", "language"),
    [
        ("a.py", "x = 1\n", ChunkType.CODE, "python"),
        ("run.sh", "echo\n", ChunkType.CODE, "bash"),
        ("Makefile", "all:\n\techo\n", ChunkType.CMD, "make"),
        ("ship.proto", "message Ship {}\n", ChunkType.API, "proto"),
        ("ship.graphql", "type Ship { name: String }\n", ChunkType.API, "graphql"),
        ("main.tf", 'variable "x" {}\n', ChunkType.CONFIG, "hcl"),
        ("Dockerfile", "FROM scratch\n", ChunkType.CONFIG, "dockerfile"),
        ("a.yaml", "port: 80\n", ChunkType.CONFIG, "yaml"),
        ("a.yaml", "openapi: 3.1.0\n", ChunkType.API, "yaml"),
        ("api/openapi.json", "{}\n", ChunkType.API, "json"),
        ("a.json", '{"port": 80}\n', ChunkType.CONFIG, "json"),
        ("notes.txt", "words\n", ChunkType.PROSE, "text"),
        ("noextension", "words\n", ChunkType.PROSE, ""),
        ("ship.nim", "proc sail() = discard\n", ChunkType.CODE, "nim"),
        ("ship.h", "class Ship {};\n", ChunkType.CODE, "cpp"),
    ],
)
def test_files_have_a_type_and_a_language(path: str, text: str, chunk_type: ChunkType, language: str) -> None:
    (chunk,) = chunk_text(path, text)
    assert (chunk.type, chunk.language) == (chunk_type, language)


def test_a_groovy_doc_comment_takes_nothing_else() -> None:
    text = "/** Moors. */\nclass Ship {\n  def sail() { 1 }\n}\nclass Boat {\n  def row() { 1 }\n}\n"
    (chunk,) = chunk_text("Ship.groovy", text)
    assert chunk.defines == ("Ship", "sail", "Boat", "row")
    assert chunk.comment == "Moors."


# A comment mark and a definition: of some grammars a comment holds its line's end, of others not.
_COMMENTED = [
    ("ships.rs", "///", "pub fn moor() {}"),
    ("ships.rs", "//", "pub fn moor() {}"),
    ("ships.clj", ";;", "(defn moor [ship] ship)"),
    ("ships.zig", "///", "pub fn moor() void {}"),
    ("ships.go", "//", "func Moor() {}"),
    ("ships.cs", "///", "class Moor { }"),
    ("ships.swift", "///", "func moor() { }"),
    ("ships.dart", "///", "void moor() {}"),
    ("ships.c", "//", "int moor(void) { return 1; }"),
    ("ships.rb", "#", "def moor\nend"),
    ("ships.sh", "#", "moor() {\n  true\n}"),
    ("ships.lua", "---", "function moor() end"),
    ("ships.hs", "--", "moor :: Int\nmoor = 1"),
    ("ships.erl", "%%", "moor() -> ok."),
    ("ships.sql", "--", "CREATE TABLE moor (id int);"),
]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(("path", "mark", "definition"), _COMMENTED)
def test_comment_lines_are_one_paragraph_up_to_an_empty_one(
    path: str, mark: str, definition: str, line_end: str
) -> None:
    comment = [f"{mark} Moors a ship", f"{mark} at a berth.", mark, f"{mark} Slowly."]
    text = "\n".join([*comment, definition, ""]).replace("\n", line_end)
    (chunk,) = chunk_text(path, text)
    assert chunk.comment == "Moors a ship\nat a berth.\n\nSlowly."


@pytest.mark.parametrize(("path", "mark"), [("ships.rs", "//!"), ("ships.clj", ";;"), ("ships.go", "//")])
def test_a_header_keeps_what_a_blank_line_parts_from_its_licence(path: str, mark: str) -> None:
    licence = f"{mark} Copyright 2010 The Authors.\n{mark} All rights reserved.\n"
    (chunk,) = chunk_text(path, f"{licence}\n{mark} Ships\n{mark} of the port.\n")
    assert chunk.comment == "Ships\nof the port."
