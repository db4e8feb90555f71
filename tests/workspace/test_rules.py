"""Which files are indexed, checked against git where git has an opinion."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cairn.config import IndexSettings
from cairn.workspace.rules import FileRules
from cairn.workspace.scan import ScanReport, scan


def tree(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def scanned(root: Path, settings: IndexSettings | None = None) -> set[str]:
    return {entry.path for entry in scan(root, FileRules(root, settings or IndexSettings()), ScanReport())}


def test_nested_ignore_files_decide_as_git_does(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            ".gitignore": "*.log\n/build/\n!keep.log\ntmp\n# comment\n\\#odd.txt\n",
            "a.py": "a", "x.log": "x", "keep.log": "k", "#odd.txt": "o",
            "build/out.py": "b", "src/build/in.py": "b", "tmp/a.py": "t", "src/tmp": "t",
            "src/.gitignore": "!*.log\ngenerated.py\n/only_here.py\n",
            "src/deep/y.log": "y", "src/generated.py": "g", "src/deep/generated.py": "g",
            "src/only_here.py": "o", "src/deep/only_here.py": "o",
        },
    )  # fmt: skip
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    ).stdout.decode()
    assert scanned(tmp_path) == set(filter(None, listed.split("\0")))


def test_cairnignore_overrules_gitignore(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {".gitignore": "docs/\n", ".cairnignore": "!docs/\nsrc/\n", "docs/a.md": "a", "src/b.py": "b"},
    )
    assert scanned(tmp_path) == {".gitignore", ".cairnignore", "docs/a.md"}


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", "node_modules/x/index.js", "a/__pycache__/b.py", ".env", "conf/.env.production", "server.pem",
        "id_rsa", "package-lock.json", "app.min.js", "logo.png", "lib.so.1", "terraform.tfstate",
    ],
)  # fmt: skip
def test_built_in_rules_leave_out_what_is_no_project_text(tmp_path: Path, path: str) -> None:
    tree(tmp_path, {path: "text", "a.py": "a"})
    assert scanned(tmp_path) == {"a.py"}
    assert FileRules(tmp_path, IndexSettings()).decide(path).rule.startswith("built-in")


def test_include_and_exclude_settings(tmp_path: Path) -> None:
    tree(tmp_path, {"a.py": "a", "b.md": "b", "vendor/c.py": "c"})
    assert scanned(tmp_path, IndexSettings(include=("*.py",), exclude=("vendor/",))) == {"a.py"}


def test_large_files_are_skipped_with_the_reason(tmp_path: Path) -> None:
    tree(tmp_path, {"big.py": "x" * 101, "small.py": "x"})
    settings = IndexSettings(max_file_bytes=100)
    assert scanned(tmp_path, settings) == {"small.py"}
    assert "larger than index.maxFileBytes (101 > 100)" in FileRules(tmp_path, settings).decide("big.py").rule


def test_links_are_not_followed_so_loops_end(tmp_path: Path) -> None:
    tree(tmp_path, {"src/a.py": "a"})
    (tmp_path / "src" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "link.py").symlink_to("src/a.py")
    assert scanned(tmp_path) == {"src/a.py"}
    rules = FileRules(tmp_path, IndexSettings())
    assert rules.decide("src/loop/src/a.py").rule == "symbolic link: src/loop"
    assert rules.decide("link.py").rule == "symbolic link"


def test_single_decisions_agree_with_the_scan(tmp_path: Path) -> None:
    files = {"a/b/c.py": "c", "a/x.log": "x", "a/.gitignore": "*.log\nb2/\n", "a/b2/d.py": "d", "e.md": "e"}
    tree(tmp_path, files)
    rules = FileRules(tmp_path, IndexSettings())
    assert {path for path in files if rules.decide(path).indexed} == scanned(tmp_path)


def test_what_was_left_out_is_counted_by_rule(tmp_path: Path) -> None:
    tree(tmp_path, {"a.png": "", "b.png": "", "x.log": "", ".gitignore": "*.log\n"})
    report = ScanReport()
    list(scan(tmp_path, FileRules(tmp_path, IndexSettings()), report))
    assert report.skipped == {"built-in: binary file type": 2, "ignored by .gitignore": 1}
