"""Imports are read from texts as people write them, and counted over small workspaces."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.text.languages import language_of
from cairn.workspace.imports import ImportGraph, import_specs


def specs(path: str, text: str) -> list[str]:
    return list(import_specs(path, language_of(path, text), text))


def degrees(**files: str) -> dict[str, int]:
    """`a__b_py="..."` is not readable for paths: give them as `**{"a/b.py": "..."}`."""
    read = {path: import_specs(path, language_of(path, text), text) for path, text in files.items()}
    return ImportGraph(read).in_degrees()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.py", "import aiohttp.web\nimport a.b as c, d\n", ["py:aiohttp/web", "py:a/b", "py:d"]),
        ("a.py", "from .http import web, URL as U\nfrom ..x import *\n", ["py:./http?web,", "py:../x"]),
        ("a.py", "from . import (  # noqa\n    one,\n    two,\n)\n", ["py:.?one,two"]),
        ("a.py", "if TYPE_CHECKING:\n    from ...pkg.mod import \\\n        name\n", ["py:../../pkg/mod?name"]),
        ("a.py", "import os, sys\nfrom collections.abc import Mapping\n", []),
        ("a.py", '"""Doc.\n\nimport inside\nfrom text import that\n"""\n# import comment\nx = "import y"\n', []),
        ("a.ts", 'import x from "./x.js";\nimport type { A,\n  B } from "@scope/pkg/sub";\n', ["js:./x.js", "js:@scope/pkg/sub"]),
        ("a.js", "import './side';\nexport * from '../barrel'\nexport { a } from './a'\n", ["js:./side", "js:../barrel", "js:./a"]),
        ("a.js", "const x = require('./x'), y = await import(`./y.mjs`)\n", ["js:./x", "js:./y.mjs"]),
        ("a.js", "// require('./no')\n * import('./no')\nrequire('node:fs')\nexport const a = 'b'\n", []),
        ("a.js", "import express from '..'\n", ["js:../"]),
        ("a.vue", "<script>\nimport A from '@/A.vue'\n</script>\n", ["js:@/A.vue"]),
        ("a.go", 'package a\n\nimport (\n\t"fmt"\n\tx "example.org/m/x"\n\t// "no/no"\n)\n', ["go:example.org/m/x"]),
        ("a.go", 'import "net/http"\nimport _ "m/y"\n', ["go:net/http", "go:m/y"]),
        ("A.java", "package a.b;\nimport static a.c.Util.join;\nimport a.d.*;\nimport java.util.List;\n", ["=jvm:a/b", "jvm:a/c/Util/join", "jvm:a/d/*", "jvm:~Util,List"]),
        ("a.scala", "import a.b.{C, d => e}\nimport x._\n", ["jvm:a/b/C", "jvm:a/b/d", "jvm:x/*", "jvm:~C"]),
        ("a.cs", "using System.Text;\nusing Shop.Cart;\nnamespace Shop.Till;\nclass T {}\n", ["=cs:Shop/Till", "cs:Shop/Cart/*", "cs:~System,Text,Shop,Cart,Till,T"]),
        ("a.php", "<?php\nnamespace App;\nuse App\\Models\\{User, Post};\nrequire __DIR__ . '/x.php';\n", ["=php:App", "php:App/Models/User", "php:App/Models/Post", "file:./x.php", "php:~App,Models,User,Post"]),
        ("a.rs", "mod x;\npub(crate) use crate::{a::B, c::{d, E as F}, g::*};\nuse std::fmt;\n", ["rs:self/x", "rs:crate/a/B", "rs:crate/c/d", "rs:crate/c/E", "rs:crate/g"]),
        ("a.rs", "use super::y;\nmod tests {\n    use super::*;\n    use super::z;\n}\nlet a = crate::deep::call();\n", ["rs:super/y", "rs:self/z", "rs:crate/deep/call"]),
        ("a.c", '#include "x.h"\n#  include <sys/y.h>\n// #include "no.h"\n', ["c:x.h", "sys:sys/y.h"]),
        ("a.rb", "require 'a/b'\nrequire_relative 'c'\nautoload :D, 'd/e'\nrequire File.expand_path('../f', __FILE__)\n# require 'no'\n", ["rb:a/b", "rb:./c", "rb:d/e", "rb:./f"]),
        ("a.ex", "defmodule A.B do\n  alias A.{C, D.E}\n  use Other.Thing, opt: 1\n", ["=ex:A/B", "ex:A/C", "ex:A/D/E", "ex:Other/Thing"]),
        ("a.dart", "import 'package:m/src/x.dart';\nimport 'y.dart';\nimport 'dart:io';\n", ["dart:m/src/x.dart", "file:./y.dart"]),
        ("a.sh", 'source ./x.sh\n. "$(dirname "$0")/lib/y.sh"\n', ["file:./x.sh", "file:lib/y.sh"]),
        ("a.scss", '@use "base/mixins" as m;\n@import url("x.css");\n', ["css:./base/mixins", "css:./x.css"]),
        ("a.lua", 'local x = require("a.b")\nrequire "c"\n', ["lua:a/b", "lua:c"]),
        ("a.hs", "import qualified Data.Map as M\nimport A.B (c)\n", ["hs:Data/Map", "hs:A/B"]),
        ("a.pm", "use strict;\nuse My::Mod qw(x);\n", ["pl:My/Mod"]),
        ("a.proto", 'import public "a/b.proto";\n', ["file:a/b.proto"]),
        ("go.mod", "module example.org/m\n\ngo 1.22\n", ["=go:example.org/m"]),
        ("p/package.json", '{\n  "name": "@s/p",\n  "author": {\n    "name": "Ada"\n  }\n}\n', ["=js:@s/p"]),
        ("Cargo.toml", '[workspace]\n[package]\nversion = "1"\nname = "a-b"\n[dependencies.c]\nname = "d"\n', ["=rs:a_b"]),
        ("a.swift", "import Foundation\n", []),
        ("a.md", "import x\n", []),
    ],
)  # fmt: skip
def test_what_a_file_imports(path: str, text: str, expected: list[str]) -> None:
    assert specs(path, text) == expected
    assert specs(path, text.replace("\n", "\r\n")) == expected


LANGUAGES = "python javascript go java csharp php rust c ruby elixir dart bash scss lua haskell perl proto nix hcl twig"
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *"{}()[]\"'`;,.:#/*\\\n\t $",
                *"import from use require mod crate self super package #include export namespace as".split(),
                *('"""', "'''", "::", "pub(", "..", "./", "require('", "$("),
            ]
        ),
        st.text(max_size=8),
    ),
    max_size=60,
).map("".join)


@given(st.sampled_from(LANGUAGES.split()), HOSTILE, HOSTILE)
def test_no_text_breaks_reading_or_counting(language: str, one: str, other: str) -> None:
    read = {"a/x": import_specs("a/x", language, one), "y": import_specs("y", language, other)}
    assert all(isinstance(spec, str) for found in read.values() for spec in found)
    assert set(ImportGraph(read).in_degrees()) <= set(read)


@pytest.mark.parametrize("language", LANGUAGES.split())
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "import ",
            "use a::{",
            "'''",
            "require ",
            "\n",
            "A",
            "\n[package]",
            '\n"""a"',
            "$(",
            "{%- include ",
        ),
        *(
            "\nimport (",
            "\nfrom . import (",
            "\nimport a{",
            "\nuse a{",
            "\nuse a",
            "\nalias A.{",
            "\nexport a",
        ),
    ],
)
def test_a_file_without_an_end_takes_time_in_proportion_to_its_length(language: str, piece: str) -> None:
    def read(characters: int) -> float:
        begun = time.thread_time()
        found = import_specs("x", language, piece * (characters // len(piece)))
        assert len(found) <= 400
        return time.thread_time() - begun

    whole = read(200_000)
    if whole > 0.1:  # in less nothing of this length is compared with itself
        # Four times as long where it is bounded, and sixteen times where it is not. Neither depends on the machine;
        # the least of several leaves out when it stood still.
        quarter = min(read(50_000) for _ in range(3))
        assert min(whole, read(200_000)) < 12 * quarter


class TestCounting:
    def test_each_importer_counts_once_and_not_itself(self) -> None:
        found = degrees(
            **{
                "app/__init__.py": "",
                "app/core.py": "import app.core\nfrom app import core",
                "app/a.py": "from app.core import x\nfrom . import core\nfrom .core import y",
                "app/b.py": "from app import core, unknown",
            }
        )
        assert found == {"app/core.py": 2, "app/__init__.py": 1}

    def test_python_packages_source_roots_and_shadowed_names(self) -> None:
        found = degrees(
            **{
                "src/shop/__init__.py": "",
                "src/shop/yaml.py": "",
                "src/shop/till/__init__.py": "from ..money import Coin\nfrom .drawer import *",
                "src/shop/till/drawer.py": "",
                "src/shop/money.py": "import yaml",
                "tests/test_shop.py": "from shop.till import drawer, Till\nimport shop.money",
            }
        )
        assert found == {"src/shop/till/__init__.py": 1, "src/shop/till/drawer.py": 2, "src/shop/money.py": 2}

    def test_the_nearest_of_several(self) -> None:
        found = degrees(
            **{
                "one/common.py": "",
                "one/x.py": "import common",
                "two/common.py": "",
                "z/y.py": "import common",
            }
        )
        assert found == {"one/common.py": 1}

    def test_javascript_endings_folders_packages_and_aliases(self) -> None:
        found = degrees(
            **{
                "packages/core/package.json": '{\n  "name": "@s/core"\n}',
                "packages/core/src/index.ts": "export * from './util.js'",
                "packages/core/src/util.ts": "",
                "packages/core/src/deep/thing.tsx": "",
                "web/src/app.js": "import '@s/core'\nimport '@s/core/deep/thing'\nimport Button from '@/button'\nimport 'react'",
                "web/src/button/index.vue": "",
                "web/src/other.js": "require('./button'); require('./data.json'); require('./missing')",
                "web/src/data.json": "{}",
            }
        )
        assert found == {
            "packages/core/src/index.ts": 1,
            "packages/core/src/util.ts": 1,
            "packages/core/src/deep/thing.tsx": 1,
            "web/src/button/index.vue": 2,
            "web/src/data.json": 1,
        }

    def test_go_packages_by_module(self) -> None:
        found = degrees(
            **{
                "go.mod": "module example.org/m",
                "root.go": "",
                "x/x.go": 'import "example.org/m"',
                "x/x_test.go": "",
                "net/http/http.go": "",
                "main/main.go": 'import (\n"example.org/m/x"\n"net/http"\n)',
            }
        )
        assert found == {"root.go": 1, "x/x.go": 1}

    def test_types_of_a_namespace_by_import_by_star_and_as_neighbours(self) -> None:
        found = degrees(
            **{
                "src/a/b/Gson.java": "package a.b;\nclass Gson { Reader r; }",
                "src/a/b/Reader.java": "package a.b;",
                "src/a/c/Type.java": "package a.c;",
                "src/a/c/Unused.java": "package a.c;",
                "x/Main.kt": "package x\nimport a.b.Gson.Inner\nimport a.c.*\nval t: Type = Reader()",
            }
        )
        assert found == {"src/a/b/Gson.java": 1, "src/a/b/Reader.java": 1, "src/a/c/Type.java": 1}

    def test_of_a_file_that_each_platform_has_the_shared_one(self) -> None:
        found = degrees(
            **{
                "client/common/src/Client.kt": "package c",
                "client/posix/src/Client.kt": "package c",
                "server/src/X.kt": "import c.Client",
            }
        )
        assert found == {"client/common/src/Client.kt": 1}

    def test_rust_modules_crates_and_tests(self) -> None:
        found = degrees(
            **{
                "core/Cargo.toml": '[package]\nname = "my-core"',
                "core/src/lib.rs": "mod error;\npub mod body;",
                "core/src/error.rs": "use crate::body::Body;",
                "core/src/body/mod.rs": "mod inner;\nuse super::error::Error;",
                "core/src/body/inner.rs": "use super::Body;\nmod tests {\n    use super::*;\n}",
                "app/Cargo.toml": '[package]\nname = "app"',
                "app/src/main.rs": "use my_core::{body, Error};\nuse serde::Serialize;",
                "app/tests/it.rs": "mod common;\nuse common::setup;",
                "app/tests/common/mod.rs": "",
            }
        )
        assert found == {
            "core/src/lib.rs": 1,
            "core/src/error.rs": 2,
            "core/src/body/mod.rs": 4,
            "core/src/body/inner.rs": 1,
            "app/tests/common/mod.rs": 1,
        }

    def test_the_same_words_in_two_rust_modules_of_a_folder(self) -> None:
        found = degrees(
            **{
                "src/lib.rs": "",
                "src/a.rs": "mod x;",
                "src/b.rs": "mod x;",
                "src/a/x.rs": "",
                "src/b/x.rs": "",
            }
        )
        assert found == {"src/a/x.rs": 1, "src/b/x.rs": 1}

    def test_headers_beside_below_and_not_the_systems(self) -> None:
        found = degrees(
            **{
                "include/uv.h": '#include "uv/unix.h"',
                "include/uv/unix.h": "",
                "src/internal.h": "",
                "src/a.c": '#include "internal.h"\n#include "uv.h"\n#include <string.h>',
                "compat/string.h": "",
                "test/internal.h": "",
                "test/b.c": '#include "../include/uv.h"\n#include <uv.h>\n#include "internal.h"',
            }
        )
        assert found == {"include/uv.h": 2, "include/uv/unix.h": 1, "src/internal.h": 1, "test/internal.h": 1}

    def test_ruby_load_paths_and_relative_files(self) -> None:
        found = degrees(
            **{
                "gem/lib/gem/base.rb": "require 'json'",
                "gem/lib/gem/json.rb": "",
                "gem/lib/gem.rb": "require 'gem/base'\nrequire_relative 'gem/json'",
                "test/x_test.rb": "require_relative '../gem/lib/gem'",
            }
        )
        assert found == {"gem/lib/gem/base.rb": 1, "gem/lib/gem/json.rb": 1, "gem/lib/gem.rb": 1}

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
    def test_other_languages(self, importer: str, text: str, target: str) -> None:
        assert degrees(**{importer: text, target: ""}) == {target: 1}

    def test_dart_and_elixir_by_what_is_declared(self) -> None:
        found = degrees(
            **{
                "m/pubspec.yaml": "name: m\n",
                "m/lib/src/x.dart": "",
                "app/main.dart": "import 'package:m/src/x.dart';",
                "lib/y.ex": "defmodule A.Y do",
                "lib/z.ex": "alias A.{Y, Z}",
            }
        )
        assert found == {"m/lib/src/x.dart": 1, "lib/y.ex": 1}
