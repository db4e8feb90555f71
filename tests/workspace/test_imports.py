"""Imports are read from texts as people write them, and resolved in small workspaces."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.languages.registry import language_of
from cairn.workspace.import_graph import ImportGraph, read_imports


def specs(path: str, text: str) -> list[str]:
    return list(read_imports(path, language_of(path, text), text))


def degrees(files: dict[str, str]) -> dict[str, int]:
    read = {path: read_imports(path, language_of(path, text), text) for path, text in files.items()}
    return ImportGraph(read).in_degrees()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "import aiohttp.web\nimport a.b as c, d\n", ["py:aiohttp/web", "py:a/b", "py:d"]),
        ("a.py", "from .http import web, URL as U\nfrom ..x import *\n", ["py:./http?web,", "py:../x"]),
        ("a.py", "from . import (  # noqa\n    one,\n    two,\n)\n", ["py:.?one,two"]),
        ("a.py", "if TYPE_CHECKING:\n    from ...pkg.mod import \\\n        name\n", ["py:../../pkg/mod?name"]),  # noqa: E501
        ("a.py", "import os, sys\nfrom collections.abc import Mapping\n", []),
        ("a.py", '"""Doc.\n\nimport inside\nfrom text import that\n"""\n# import comment\nx = "import y"\n', []),  # noqa: E501
        ("a.ts", 'import x from "./x.js";\nimport type { A,\n  B } from "@scope/pkg/sub";\n', ["js:./x.js", "js:@scope/pkg/sub"]),  # noqa: E501
        ("a.js", "import './side';\nexport * from '../barrel'\nexport { a } from './a'\n", ["js:./side", "js:../barrel", "js:./a"]),  # noqa: E501
        ("a.js", "const x = require('./x'), y = await import(`./y.mjs`)\n", ["js:./x", "js:./y.mjs"]),
        ("a.js", "// require('./no')\n * import('./no')\nrequire('node:fs')\nexport const a = 'b'\n", []),
        ("a.js", "import express from '..'\n", ["js:../"]),
        ("a.vue", "<script>\nimport A from '@/A.vue'\n</script>\n", ["js:@/A.vue"]),
        ("a.go", 'package a\n\nimport (\n\t"fmt"\n\tx "example.org/m/x"\n\t// "no/no"\n)\n', ["go:example.org/m/x"]),  # noqa: E501
        ("a.go", 'import "net/http"\nimport _ "m/y"\n', ["go:net/http", "go:m/y"]),
        ("A.java", "package a.b;\nimport static a.c.Util.join;\nimport a.d.*;\nimport java.util.List;\n", ["=jvm:a/b", "jvm:a/c/Util/join", "jvm:a/d/*", "jvm:~?Util,List"]),  # noqa: E501
        ("a.scala", "import a.b.{C, d => e}\nimport x._\n", ["jvm:a/b/C", "jvm:a/b/d", "jvm:x/*", "jvm:~?C"]),
        ("a.scala", "import a._, b.{C, D}, e.F\n", ["jvm:a/*", "jvm:b/C", "jvm:b/D", "jvm:e/F", "jvm:~?C,D,F"]),  # noqa: E501
        ("a.cs", "using X = Shop.Y;\nusing static Shop.Z;\n", ["cs:Shop/Y", "cs:Shop/Z/*", "cs:~?X,Shop,Y,Z"]),  # noqa: E501
        ("a.cs", "using System.Text;\nusing Shop.Cart;\nnamespace Shop.Till;\nclass T {}\n", ["=cs:Shop/Till", "cs:Shop/Cart/*", "cs:~?System,Text,Shop,Cart,Till,T"]),  # noqa: E501
        ("a.php", "<?php\nnamespace App;\nuse App\\Models\\{User, Post};\nrequire __DIR__ . '/x.php';\n", ["=php:App", "php:App/Models/User", "php:App/Models/Post", "file:./x.php", "php:~?App,Models,User,Post"]),  # noqa: E501
        ("a.rs", "mod x;\npub(crate) use crate::{a::B, c::{d, E as F}, g::*};\nuse std::fmt;\n", ["rs:self/x", "rs:crate/a/B", "rs:crate/c/d", "rs:crate/c/E", "rs:crate/g"]),  # noqa: E501
        ("a.rs", "use a::{self, b::{*, c}};\n", ["rs:a", "rs:a/b", "rs:a/b/c"]),
        ("a.rs", "use super::y;\nmod tests {\n    use super::*;\n    use super::z;\n}\nlet a = crate::deep::call();\n", ["rs:super/y", "rs:self/z", "rs:crate/deep/call"]),  # noqa: E501
        ("a.c", '#include "x.h"\n#  include <sys/y.h>\n// #include "no.h"\n', ["c:x.h", "sys:sys/y.h"]),
        ("a.rb", "require 'a/b'\nrequire_relative 'c'\nautoload :D, 'd/e'\nrequire File.expand_path('../f', __FILE__)\n# require 'no'\n", ["rb:a/b", "rb:./c", "rb:d/e", "rb:./f"]),  # noqa: E501
        ("a.ex", "defmodule A.B do\n  alias A.{C, D.E}\n  use Other.Thing, opt: 1\n", ["=ex:A/B", "ex:A/C", "ex:A/D/E", "ex:Other/Thing"]),  # noqa: E501
        ("a.dart", "import 'package:m/src/x.dart';\nimport 'y.dart';\nimport 'dart:io';\n", ["dart:m/src/x.dart", "file:./y.dart"]),  # noqa: E501
        ("a.sh", 'source ./x.sh\n. "$(dirname "$0")/lib/y.sh"\n', ["file:./x.sh", "file:lib/y.sh"]),
        ("a.scss", '@use "base/mixins" as m;\n@import url("x.css");\n', ["css:./base/mixins", "css:./x.css"]),
        ("a.lua", 'local x = require("a.b")\nrequire "c"\n', ["lua:a/b", "lua:c"]),
        ("a.hs", "import qualified Data.Map as M\nimport A.B (c)\n", ["hs:Data/Map", "hs:A/B"]),
        ("a.pm", "use strict;\nuse My::Mod qw(x);\n", ["pl:My/Mod"]),
        ("a.proto", 'import public "a/b.proto";\n', ["file:a/b.proto"]),
        ("a.sol", 'import "./b.sol";\nimport {\n  C as D\n} from "../c.sol";\nimport * as E from "e/f.sol";\n', ["file:./b.sol", "file:../c.sol", "file:e/f.sol"]),  # noqa: E501
        ("go.mod", "module example.org/m\n\ngo 1.22\n", ["=go:example.org/m"]),
        ("p/package.json", '{\n  "name": "@s/p",\n  "author": {\n    "name": "Ada"\n  }\n}\n', ["=js:@s/p"]),
        (
            "tsconfig.json",
            '{\n  // Names\n  "compilerOptions": {\n    "baseUrl": ".", /* here */\n    "paths": {"@a/*": ["./a/src/*"], "b": ["c"],},\n  },\n}\n',  # noqa: E501
            ["=alias:@a/*=a/src/*", "=alias:b=c"],
        ),
        ("Cargo.toml", '[workspace]\n[package]\nversion = "1"\nname = "a-b"\n[dependencies.c]\nname = "d"\n', ["=rs:a_b"]),  # noqa: E501
        ("a.swift", "import Foundation\n", []),
        ("a.md", "import x\n", []),
    ],
)  # fmt: skip
def test_imports_of_a_file_are_read(path: str, text: str, expected: list[str]) -> None:
    assert specs(path, text) == expected
    assert specs(path, text.replace("\n", "\r\n")) == expected


LANGUAGES = """
    python javascript go java csharp php rust c ruby elixir dart bash scss lua haskell perl proto nix hcl twig
    solidity
""".split()
_WORDS = "import from use require mod crate self super package #include export namespace as".split()
_MARKS = [*"{}()[]\"'`;,.:#/*\\\n\t $", '"""', "'''", "::", "pub(", "..", "./", "require('", "$("]
HOSTILE = st.lists(st.sampled_from(_WORDS + _MARKS) | st.text(max_size=8), max_size=60).map("".join)


@given(st.sampled_from(LANGUAGES), HOSTILE, HOSTILE)
def test_any_text_is_read_and_counted(language: str, one: str, other: str) -> None:
    read = {"a/x": read_imports("a/x", language, one), "y": read_imports("y", language, other)}
    assert all(isinstance(spec, str) for found in read.values() for spec in found)
    assert set(ImportGraph(read).in_degrees()) <= set(read)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "piece",
    [
        *("import ", "use a::{", "'''", "require ", "\n", "A", "\n[package]", '\n"""a"', "$(", "{%- include "),  # noqa: E501
        *("\nimport (", "\nfrom . import (", "\nimport a{", "\nuse a{", "\nuse a", "\nalias A.{", "\nexport a"),  # noqa: E501
    ],
)  # fmt: skip
def test_endless_text_takes_linear_time(language: str, piece: str) -> None:
    def read(characters: int) -> float:
        begun = time.thread_time()
        found = read_imports("x", language, piece * (characters // len(piece)))
        assert len(found) <= 400
        return time.thread_time() - begun

    whole = read(100_000)
    if whole > 0.1:  # in less time, nothing of this length is compared with itself
        # Bounded reading takes four times as long for four times the text, unbounded sixteen times, on any
        # machine; the fastest of several runs excludes pauses.
        quarter = min(read(25_000) for _ in range(3))
        assert min(whole, read(100_000)) < 12 * quarter


GRAPHS: dict[str, tuple[dict[str, str], dict[str, int]]] = {
    "each importer except itself counts once": (
        {
            "app/__init__.py": "",
            "app/core.py": "import app.core\nfrom app import core",
            "app/a.py": "from app.core import x\nfrom . import core\nfrom .core import y",
            "app/b.py": "from app import core, unknown",
        },
        {"app/core.py": 2, "app/__init__.py": 1},
    ),
    "python imports resolve packages and source roots": (
        {
            "src/shop/__init__.py": "",
            "src/shop/yaml.py": "",
            "src/shop/till/__init__.py": "from ..money import Coin\nfrom .drawer import *",
            "src/shop/till/drawer.py": "",
            "src/shop/money.py": "import yaml",
            "tests/test_shop.py": "from shop.till import drawer, Till\nimport shop.money",
        },
        {"src/shop/till/__init__.py": 1, "src/shop/till/drawer.py": 2, "src/shop/money.py": 2},
    ),
    "nearest of several files is imported": (
        {
            "one/common.py": "",
            "one/x.py": "import common",
            "two/common.py": "",
            "z/y.py": "import common",
        },
        {"one/common.py": 1},
    ),
    "javascript imports resolve names that settings give to folders": (
        {
            "tsconfig.json": '{"compilerOptions": {"paths": {"@agent/*": ["./apps/agent/src/*"], "port": ["./lib/port"]}}}',  # noqa: E501
            "apps/agent/src/sync/run.ts": "import '@agent/sync/tie'\nimport 'port'\nimport '@agent/missing'",
            "apps/agent/src/sync/tie.ts": "",
            "apps/agent/tsconfig.json": '{"compilerOptions": {"paths": {"@own/*": ["./src/*"]}}}',
            "apps/agent/src/main.ts": "import '@own/sync/run'",
            "lib/port.ts": "import '@own/sync/run'",
        },
        {"apps/agent/src/sync/tie.ts": 1, "apps/agent/src/sync/run.ts": 1, "lib/port.ts": 1},
    ),
    "javascript imports resolve files packages and aliases": (
        {
            "packages/core/package.json": '{\n  "name": "@s/core"\n}',
            "packages/core/src/index.ts": "export * from './util.js'",
            "packages/core/src/util.ts": "",
            "packages/core/src/deep/thing.tsx": "",
            "web/src/app.js": "import '@s/core'\nimport '@s/core/deep/thing'\nimport Button from '@/button'\nimport 'react'",  # noqa: E501
            "web/src/button/index.vue": "",
            "web/src/other.js": "require('./button'); require('./data.json'); require('./missing')",
            "web/src/data.json": "{}",
        },
        {
            "packages/core/src/index.ts": 1, "packages/core/src/util.ts": 1,
            "packages/core/src/deep/thing.tsx": 1, "web/src/button/index.vue": 2, "web/src/data.json": 1,
        },
    ),
    "go imports resolve by module": (
        {
            "go.mod": "module example.org/m",
            "root.go": "",
            "x/x.go": 'import "example.org/m"',
            "x/x_test.go": "",
            "net/http/http.go": "",
            "main/main.go": 'import (\n"example.org/m/x"\n"net/http"\n)',
        },
        {"root.go": 1, "x/x.go": 1},
    ),
    "namespace types resolve by import star and neighbour": (
        {
            "src/a/b/Gson.java": "package a.b;\nclass Gson { Reader r; }",
            "src/a/b/Reader.java": "package a.b;",
            "src/a/c/Type.java": "package a.c;",
            "src/a/c/Unused.java": "package a.c;",
            "x/Main.kt": "package x\nimport a.b.Gson.Inner\nimport a.c.*\nval t: Type = Reader()",
        },
        {"src/a/b/Gson.java": 1, "src/a/b/Reader.java": 1, "src/a/c/Type.java": 1},
    ),
    "shared file wins over platform files": (
        {
            "client/common/src/Client.kt": "package c",
            "client/posix/src/Client.kt": "package c",
            "server/src/X.kt": "import c.Client",
        },
        {"client/common/src/Client.kt": 1},
    ),
    "rust imports resolve modules and crates": (
        {
            "core/Cargo.toml": '[package]\nname = "my-core"',
            "core/src/lib.rs": "mod error;\npub mod body;",
            "core/src/error.rs": "use crate::body::Body;",
            "core/src/body/mod.rs": "mod inner;\nuse super::error::Error;",
            "core/src/body/inner.rs": "use super::Body;\nmod tests {\n    use super::*;\n}",
            "app/Cargo.toml": '[package]\nname = "app"',
            "app/src/main.rs": "use my_core::{body, Error};\nuse serde::Serialize;",
            "app/tests/it.rs": "mod common;\nuse common::setup;",
            "app/tests/common/mod.rs": "",
        },
        {
            "core/src/lib.rs": 1, "core/src/error.rs": 2, "core/src/body/mod.rs": 4,
            "core/src/body/inner.rs": 1, "app/tests/common/mod.rs": 1,
        },
    ),
    "same names in two rust modules resolve apart": (
        {
            "src/lib.rs": "",
            "src/a.rs": "mod x;",
            "src/b.rs": "mod x;",
            "src/a/x.rs": "",
            "src/b/x.rs": "",
        },
        {"src/a/x.rs": 1, "src/b/x.rs": 1},
    ),
    "headers resolve except system ones": (
        {
            "include/uv.h": '#include "uv/unix.h"',
            "include/uv/unix.h": "",
            "src/internal.h": "",
            "src/a.c": '#include "internal.h"\n#include "uv.h"\n#include <string.h>',
            "compat/string.h": "",
            "test/internal.h": "",
            "test/b.c": '#include "../include/uv.h"\n#include <uv.h>\n#include "internal.h"',
        },
        {"include/uv.h": 2, "include/uv/unix.h": 1, "src/internal.h": 1, "test/internal.h": 1},
    ),
    "ruby imports resolve load paths and relative files": (
        {
            "gem/lib/gem/base.rb": "require 'json'",
            "gem/lib/gem/json.rb": "",
            "gem/lib/gem.rb": "require 'gem/base'\nrequire_relative 'gem/json'",
            "test/x_test.rb": "require_relative '../gem/lib/gem'",
        },
        {"gem/lib/gem/base.rb": 1, "gem/lib/gem/json.rb": 1, "gem/lib/gem.rb": 1},
    ),
    "dart and elixir resolve declarations": (
        {
            "m/pubspec.yaml": "name: m\n",
            "m/lib/src/x.dart": "",
            "app/main.dart": "import 'package:m/src/x.dart';",
            "lib/y.ex": "defmodule A.Y do",
            "lib/z.ex": "alias A.{Y, Z}",
        },
        {"m/lib/src/x.dart": 1, "lib/y.ex": 1},
    ),
}  # fmt: skip
"""The files of a workspace, and the number of importers of each imported file."""


@pytest.mark.parametrize(("files", "expected"), GRAPHS.values(), ids=GRAPHS)
def test_importers_of_each_file_are_counted(files: dict[str, str], expected: dict[str, int]) -> None:
    assert degrees(files) == expected


@pytest.mark.parametrize(
    ("importer", "text", "target"),
    [
        ("a/x.scss", '@use "parts/mix";', "a/parts/_mix.scss"),
        ("a/x.dart", "import 'y.dart';", "a/y.dart"),
        ("x.lua", 'require("m.n")', "lib/m/n/init.lua"),
        ("x.hs", "import A.B", "src/A/B.hs"),
        ("x.pm", "use A::B;", "lib/A/B.pm"),
        ("x.proto", 'import "a/b.proto";', "proto/a/b.proto"),
        ("s/x.sh", '. "$HERE/y.sh"', "s/y.sh"),
        ("x.php", "<?php require __DIR__ . '/inc/y.php';", "inc/y.php"),
        ("env/x.tf", 'source = "../mod"', "mod/main.tf"),
        ("x.nix", "import ./pkg", "pkg/default.nix"),
    ],
)
def test_other_languages_resolve_imports(importer: str, text: str, target: str) -> None:
    assert degrees({importer: text, target: ""}) == {target: 1}
