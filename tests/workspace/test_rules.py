"""The rules decide which files are indexed, in agreement with git."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.git_repository import GitRepository
from tests.harbour import write_files

from cairn.settings.tree import IndexSettings
from cairn.workspace.builtin_rules import OTHER_WORKTREE, decide_content
from cairn.workspace.scan import FileRules, ScanReport, read_text, scan


def scanned(root: Path, settings: IndexSettings | None = None) -> set[str]:
    return {entry.path for entry in scan(root, FileRules(root, settings or IndexSettings()), ScanReport())}


def test_cairnignore_overrules_gitignore(tmp_path: Path) -> None:
    ignore_files = {".gitignore": "docs/\n", ".cairnignore": "!docs/\nsrc/\n"}
    write_files(tmp_path, {**ignore_files, "docs/a.md": "a", "src/b.py": "b"})
    assert scanned(tmp_path) == {".gitignore", ".cairnignore", "docs/a.md"}


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", "node_modules/x/index.js", "a/__pycache__/b.py", ".env", "conf/.env.production",
        "server.pem", "package-lock.json", "Pipfile.lock", "app.min.js", "api_pb2.py", "logo.png", "LOGO.PNG",
        "lib.so.1", "x.egg-info/PKG",
    ],
)  # fmt: skip
def test_built_in_rules_exclude_files_without_project_text(tmp_path: Path, path: str) -> None:
    write_files(tmp_path, {path: "text", "a.py": "a"})
    assert scanned(tmp_path) == {"a.py"}
    assert FileRules(tmp_path, IndexSettings()).decide(path).rule.startswith("built-in")


def test_nothing_admits_a_secret(tmp_path: Path) -> None:
    secrets = [".env", "server.KEY", "id_rsa", ".npmrc", "Secrets.yaml", ".aws/config", "home/.SSH/config"]
    admitting = {"conf/.cairnignore": "!*\n", ".gitignore": "".join(f"!{path}\n" for path in (*secrets, "*"))}
    GitRepository(tmp_path, {f"conf/{path}": "password" for path in secrets} | admitting)
    settings = IndexSettings(include=("*", *(f"conf/{path}" for path in secrets)), exclude=("!*",))
    assert scanned(tmp_path, settings) == {".gitignore", "conf/.cairnignore"}
    for path in secrets:
        decision = FileRules(tmp_path, settings).decide(f"conf/{path}")  # as for a newly saved file
        assert (decision.indexed, decision.rule) == (False, "built-in: may hold secrets")


@pytest.mark.parametrize(
    ("include", "exclude", "found"),
    [
        (("*.py",), ("vendor/",), "a.py"),
        ((), ("*.md", "!b.md"), "a.py b.md vendor/c.py vendor/deep/e.py"),
        (("vendor/",), (), "vendor/c.py vendor/d.md vendor/deep/e.py"),
        (("vendor/", "!vendor/deep/"), (), "vendor/c.py vendor/d.md"),
        (("*", "!*.md"), (), "a.py vendor/c.py vendor/deep/e.py"),
        (("/*.py", "deep"), (), "a.py vendor/deep/e.py"),
    ],
)
def test_include_and_exclude_settings_select_files(
    tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], found: str
) -> None:
    write_files(tmp_path, dict.fromkeys("a.py b.md vendor/c.py vendor/d.md vendor/deep/e.py".split(), "text"))
    assert scanned(tmp_path, IndexSettings(include=include, exclude=exclude)) == set(found.split())


def test_explanation_names_file_line_and_pattern(tmp_path: Path) -> None:
    write_files(tmp_path, {"docs/.gitignore": "# drafts\n\n*.tmp\n!kept.tmp\n"})
    write_files(tmp_path, dict.fromkeys(("docs/a.tmp", "docs/kept.tmp", "b.log"), ""))
    rules = FileRules(tmp_path, IndexSettings(exclude=("*.log",)))
    decision = rules.decide("docs/a.tmp")
    assert (decision.rule, decision.detail) == ("ignored by docs/.gitignore", "docs/.gitignore:3: *.tmp")
    assert rules.decide("docs/kept.tmp").explanation == (
        "taken back in by docs/.gitignore (docs/.gitignore:4: !kept.tmp)"
    )
    assert rules.decide("b.log").explanation == "settings: index.exclude (*.log)"


def test_large_files_are_skipped_with_a_reason(tmp_path: Path) -> None:
    write_files(tmp_path, {"big.py": "x" * 101, "small.py": "x"})
    settings = IndexSettings(max_file_bytes=100)
    assert scanned(tmp_path, settings) == {"small.py"}
    decision = FileRules(tmp_path, settings).decide("big.py")
    assert decision.explanation == "larger than index.maxFileBytes (101 > 100)"


def test_links_are_not_followed_so_loops_end(tmp_path: Path) -> None:
    write_files(tmp_path, {"src/a.py": "a"})
    (tmp_path / "src" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "link.py").symlink_to("src/a.py")
    assert scanned(tmp_path) == {"src/a.py"}
    rules = FileRules(tmp_path, IndexSettings())
    assert rules.decide("src/loop/src/a.py").explanation == "symbolic link (src/loop)"
    assert rules.decide("link.py").rule == "symbolic link"


def test_worktree_inside_is_left_out_unless_it_is_opened(tmp_path: Path) -> None:
    project = GitRepository(tmp_path / "port", {"src/dock.py": "dock"})
    foreign = GitRepository(tmp_path / "other", {"quay.py": "quay"})
    tree = tmp_path / "port" / ".agents" / "one"
    project.git("worktree", "add", "--quiet", str(tree))
    foreign.git("worktree", "add", "--quiet", str(project.folder / "other"))
    report = ScanReport(most_examples=2)
    rules = FileRules(project.folder, IndexSettings())
    assert [entry.path for entry in scan(project.folder, rules, report)] == ["src/dock.py"]
    assert [path for path, _ in report.examples[OTHER_WORKTREE]] == ["other/", ".agents/one/"]
    for path in (".agents/one/src/dock.py", ".agents/one/new.py"):
        assert not rules.admits(path)
    assert rules.decide_descent(".agents/one/src").explanation == f"{OTHER_WORKTREE} (.agents/one/.git)"
    assert scanned(tree) == {"src/dock.py"}
    assert FileRules(tree, IndexSettings()).decide("src/dock.py").indexed
    shutil.rmtree(foreign.folder)
    assert scanned(project.folder) == {"src/dock.py"}


def test_submodules_and_clones_inside_are_indexed(tmp_path: Path) -> None:
    library = GitRepository(tmp_path / "lib", {"lib.c": "c"})
    project = GitRepository(tmp_path / "port", {"a.py": "a"})
    for name in ("lib", "worktrees/lib"):
        project.git("submodule", "--quiet", "add", str(library.folder), name)
    library.clone(project.folder / "clone")
    assert scanned(project.folder) == {
        ".gitmodules", "a.py", "lib/lib.c", "worktrees/lib/lib.c", "clone/lib.c",
    }  # fmt: skip


@pytest.mark.parametrize(
    "content",
    ["", "gitdir:", "gitdir: \0/worktrees/one", "/r/.git/worktrees/one", "gitdir: " + "a/" * 20_000],
)
def test_other_git_files_leave_nothing_out(tmp_path: Path, content: str) -> None:
    write_files(tmp_path, {"a/.git": content, "a/b.py": "b"})
    assert scanned(tmp_path) == {"a/b.py"}


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and links")
def test_pipes_and_links_are_not_read_as_git_files(tmp_path: Path) -> None:
    pointer = "gitdir: /gone/.git/worktrees/one\n"
    write_files(tmp_path, {"real/.git": pointer, "real/a.py": "a", "link/b.py": "b", "pipe/c.py": "c"})
    (tmp_path / "link" / ".git").symlink_to("../real/.git")
    os.mkfifo(tmp_path / "pipe" / ".git")
    assert scanned(tmp_path) == {"link/b.py", "pipe/c.py"}


def test_single_decisions_agree_with_the_scan(tmp_path: Path) -> None:
    files = {"a/b/c.py": "c", "a/x.log": "x", "a/.gitignore": "*.log\nb2/\n", "a/b2/d.py": "d", "e.md": "e"}
    write_files(tmp_path, files)
    rules = FileRules(tmp_path, IndexSettings())
    assert {path for path in files if rules.decide(path).indexed} == scanned(tmp_path)


def test_excluded_files_are_counted_by_rule(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.png": "", "b.png": "", "x.log": "", ".gitignore": "*.log\n"})
    report = ScanReport()
    list(scan(tmp_path, FileRules(tmp_path, IndexSettings()), report))
    assert report.skipped == {"built-in: binary file type": 2, "ignored by .gitignore": 1}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n", "plain\n"),
        ("naïve 漢字\r\n".encode(), "naïve 漢字\r\n"),
        (b"\xef\xbb\xbfmarked", "marked"),
        ("sixteen".encode("utf-16"), "sixteen"),
        (b"caf\xe9 \xff\n", "café ÿ\n"),
        (b"", ""),
        (b"ELF\0\1\2", None),
    ],
)
def test_text_is_read_in_any_encoding_and_binaries_are_not(
    tmp_path: Path, data: bytes, text: str | None
) -> None:
    (tmp_path / "file").write_bytes(data)
    assert read_text(tmp_path / "file") == text


# --- content ---------------------------------------------------------------------------------------

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
LICENCE = "// Copyright\n" + "// Licensed to you under terms\n" * 20


def content_rule(path: str, text: str) -> str:
    decision = decide_content(path, text)
    return "" if decision.indexed else decision.rule


@pytest.mark.parametrize(
    "text",
    [
        KEY, "\n\n" + KEY, "# my key\n" + KEY, CERTIFICATE + KEY, KEY.replace("OPENSSH ", ""),
        KEY.replace("KEY", "KEY BLOCK"), "PuTTY-User-Key-File-3: ssh-rsa\n",
        "Bag Attributes\n  friendlyName: x\nKey Attributes: <No Attributes>\n" + KEY,
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["deploy", "notes.md", "backup.txt"])
def test_private_key_is_excluded_under_any_name(path: str, text: str) -> None:
    assert content_rule(path, text) == "built-in: may hold secrets"


@pytest.mark.parametrize(
    "text",
    [
        *(CERTIFICATE, "How to make a key:\n\n" + KEY, 'KEY = """' + KEY + '"""\n'),
        *(KEY.replace("PRIVATE", "PUBLIC"), "-----\n"),
    ],
)
def test_text_about_keys_is_indexed(text: str) -> None:
    assert content_rule("keys.py", text) == ""


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.go", "// Code generated by protoc-gen-go. DO NOT EDIT.\n\npackage a\n"),
        ("b.go", LICENCE + "\n// Code generated by mockgen. DO NOT EDIT.\npackage a\n"),
        ("c.rs", "// This file is @generated by prost-build.\n"),
        ("d.js", "/**\n * Copyright.\n *\n * @generated SignedSource<<abc>>\n */\nvar a;\n"),
        ("e.py", "# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n"),
        ("f.cs", "// <auto-generated />\nusing System;\n"),
        ("g.h", "/*\n * WARNING: do not edit!\n * Generated by Makefile from x.h.in\n */\n#ifndef X\n"),
        ("h.c", "/* A Bison parser, made by GNU Bison 3.5.1.  */\n"),
        ("i.dart", "// GENERATED CODE - DO NOT MODIFY BY HAND\n"),
        ("j.java", "package a;\n\nimport b;\n\n/** This class is generated by {@link Gen}. DO NOT MODIFY MANUALLY */\n"),  # noqa: E501
        ("k.xml", "<?xml version='1.0'?>\n<!-- This file was automatically generated.\n  Changes will be lost. -->\n<a/>\n"),  # noqa: E501
        ("l.sql", "-- AUTO-GENERATED FILE, do not modify\n"),
        ("m.py", "#!/usr/bin/env python\n# file generated by setuptools_scm\n# don't change, don't track\n"),
        ("n.py", "# WARNING: AUTOGENERATED! ALL EDITS WILL BE LOST\n"),
    ],
)  # fmt: skip
def test_file_with_a_generated_header_is_excluded(path: str, text: str) -> None:
    assert content_rule(path, text) == "built-in: generated file"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("gen.py", '"""Writes the client.\n\nCode generated by this script. DO NOT EDIT.\n"""\n'),
        ("gen2.py", 'HEADER = """\n# Code generated by gen2. DO NOT EDIT.\n"""\n'),
        ("gen.go", "package gen\n\nconst header = `\n// Code generated by gen. DO NOT EDIT.\n`\n"),
        ("rules.py", '# Files that say "Code generated by x. DO NOT EDIT." are left out.\n'),
        ("rules.js", "// `@generated` marks files that machines wrote\n"),
        ("lint.js", "// Skips @generated files, which you should not edit.\n"),
        ("spec_helper.rb", "# This file was generated by the `rspec --init` command. Conventionally, all\n"),
        ("flow.yml", "# Based on default config generated by a wizard\n\n# Do not edit the secrets below\n"),
        ("requirements.txt", "#\n# This file is autogenerated by pip-compile with Python 3.12\n"),
        ("handwritten.c", "/* This file is not generated; do not edit the tables without the script. */\n"),
        ("late.py", "import os\n\nx = 1\n# This file is generated. Do not edit.\n"),
        ("api.md", "<!-- Code generated by docgen. DO NOT EDIT. -->\n# API\n"),
        ("guide.rst", ".. This file is generated. Do not edit.\n"),
        ("facts.py", "## DO NOT EDIT OR REMOVE THIS FILE!\n"),
    ],
)
def test_file_that_mentions_generated_files_is_indexed(path: str, text: str) -> None:
    assert content_rule(path, text) == ""


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("<html><head>\n<!-- Generated by javadoc (17) on Tue Jan 03 2023 -->\n", "Generated by javadoc"),
        ('<head><meta name="generator" content="Doxygen 1.9.4"/></head>', "Doxygen 1.9.4"),
        ('<head><meta name="generator" content="rustdoc"></head>', "rustdoc"),
        ('<p>Generated by <a class="link" href="https://github.com/realm/jazzy">jazzy</a></p>', "by jazzy"),
        (
            '<span>Generated by </span><a href="https://github.com/Kotlin/dokka"><span>dokka</span>',
            "by dokka",
        ),
        ('<p>Generated using <a href="https://typedoc.org/">TypeDoc</a></p>', "using TypeDoc"),
        ('Documentation generated by <a href="https://github.com/jsdoc/jsdoc">JSDoc 4.0.2</a>', "by JSDoc"),
        ('Created using <a href="https://www.sphinx-doc.org/">Sphinx</a> 5.3.0.', "using Sphinx"),
        ('Powered by <a href="https://www.sphinx-doc.org/">Sphinx 9.0.4</a>', "by Sphinx"),
        ('Generated on Tue Jan 3 10:00:00 2023 by <a href="https://yardoc.org">yard</a>', "yard"),
    ],
)
def test_generated_documentation_pages_are_excluded(text: str, program: str) -> None:
    page = f"{text}\n{'<p>What the comment says.</p>' * 400}"
    decision = decide_content("api/Ship.html", page)
    assert decision.rule == "built-in: generated documentation"
    assert program in decision.detail
    assert content_rule("api/Ship.html", f"{'<p>What the comment says.</p>' * 400}\n{text}") == decision.rule


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("guide.html", "<p>Our pages are generated by a script that calls jsdoc.</p>"),
        ("guide.html", '<meta name="generator" content="Hugo 0.111">'),
        ("guide.md", 'Documentation generated by <a href="https://jsdoc.app">JSDoc</a>'),
        ("theme.js", "footer.innerHTML = 'Generated by <a>jazzy</a>';"),
        ("guide.html", "<p>The index is generated by dokkasoft.</p>"),
    ],
)
def test_handwritten_pages_are_indexed(path: str, text: str) -> None:
    assert content_rule(path, text) == ""


WORDS = "function(a,b){return a.map(b)};var x=[1,2,3];"


@pytest.mark.parametrize(
    ("path", "text", "minified"),
    [
        ("app.js", WORDS * 40, True),
        ("app.css", "/*! licence */\n" + "a{color:red}" * 300 + "\n", True),
        ("data.json", '{"a":[' + "1.5," * 1000 + "0]}", True),
        ("short.json", '{"a":[1,2,3]}', False),
        ("code.js", "\n".join([WORDS] * 100), False),
        ("image.py", "def show():\n" + "    pass\n" * 150 + f"BLOB = '{'A' * 4000}'\n", False),
        ("one-paragraph.html", "Some prose that goes on and on without any line end. " * 80, False),
        ("unwrapped.md", WORDS * 40, False),
    ],
)
def test_minified_text_is_recognised_by_its_lines(path: str, text: str, minified: bool) -> None:
    assert content_rule(path, text) == ("built-in: minified" if minified else "")


@given(
    st.text(st.sampled_from("@generated-BEGIN PRIVATEKY#/*!<>\n \"'do not edit"), max_size=400),
    st.sampled_from(["a.py", "b"]),
)
def test_any_content_gets_a_decision(text: str, path: str) -> None:
    assert content_rule(path, text) in ("", "built-in: may hold secrets", "built-in: generated file")


@pytest.mark.parametrize(
    "text", ["#" * 900_000, "# \n" * 300_000, "/*" + " " * 900_000, "# generated " * 70_000, "-" * 900_000]
)
def test_no_content_takes_long(text: str) -> None:
    started = time.process_time()
    content_rule("a.py", text)
    assert time.process_time() - started < 1
