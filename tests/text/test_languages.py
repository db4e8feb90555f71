"""Languages are detected by names, first lines and texts."""

import pytest

from cairn.languages.language import Category
from cairn.languages.registry import category, detect_language, language_of, language_of_fence


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/app.py", "python"),
        ("src/App.TSX", "tsx"),
        ("types/index.d.ts", "typescript"),
        ("views/home.blade.php", "php"),
        ("lib\\windows\\path.rs", "rust"),
        ("Dockerfile", "dockerfile"),
        ("docker/Dockerfile.dev", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("requirements-dev.txt", "requirements"),
        ("notes.txt", "text"),
        ("LICENSE-MIT", "text"),
        ("Makefile.am", "make"),
        ("Gemfile", "ruby"),
        (".github/workflows/ci.yml", "yaml"),
        ("go.mod", "gomod"),
        ("README", "text"),
        ("guide.mdx", "markdown"),
        ("picture.unknown", ""),
        ("noextension", ""),
        ("", ""),
    ],
)
def test_file_name_gives_the_language(path: str, language: str) -> None:
    assert detect_language(path) == language


@pytest.mark.parametrize(
    ("first_line", "language"),
    [
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/python3.11 -u", "python"),
        ("#!/usr/bin/env -S node --flag", "javascript"),
        ("#! /bin/sh", "bash"),
        ("#!/usr/bin/env FOO=1 ruby", "ruby"),
        ("#!/opt/unknown", ""),
        ("no shebang", ""),
    ],
)
def test_shebang_decides_for_unknown_names(first_line: str, language: str) -> None:
    assert detect_language("bin/run", first_line) == language
    assert detect_language("bin/run.go", first_line) == "go"


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.h", "int f(void);\n", "c"),
        ("a.h", "#pragma once\nnamespace a {\n}\n", "cpp"),
        ("a.h", "template <typename T>\nT f();\n", "cpp"),
        ("a.h", "#import <x.h>\n@interface Foo\n@end\n", "objc"),
        ("run", "#!/bin/bash\r\necho\r\n", "bash"),
        ("app_de.ts", '<?xml version="1.0"?>\n<TS/>\n', "xml"),
        ("app.ts", "const a = 1\n", "typescript"),
    ],
)
def test_text_decides_between_languages_of_an_extension(path: str, text: str, language: str) -> None:
    assert language_of(path, text) == language


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("python", "python"),
        ("js {1,3}", "javascript"),
        ("{.rust .numberLines}", "rust"),
        ("{r, echo=FALSE}", "r"),
        ("rust,no_run", "rust"),
        ("c++", "cpp"),
        ("C#", "csharp"),
        ("shell", "bash"),
        ("console", "console"),
        ("mermaid", "mermaid"),
        ("", ""),
    ],
)
def test_fence_info_gives_the_language(info: str, language: str) -> None:
    assert language_of_fence(info) == language


def test_languages_have_a_category() -> None:
    assert category("markdown") is Category.PROSE
    assert category("yaml") is Category.CONFIG
    assert category("haskell") is Category.CODE
