"""Ignore files decide as git does; every expectation comes from git itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cairn.workspace import ignore_patterns
from cairn.workspace.ignore_files import IgnoreFiles, Match
from cairn.workspace.ignore_patterns import PatternList

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows allows no such file names")


@pytest.fixture(autouse=True)
def user_config(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for the user's git configuration; the machine's settings do not count."""
    folder = tmp_path_factory.mktemp("user-config")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(folder / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return folder


def git(root: Path, *arguments: str, given: bytes = b"") -> bytes:
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *author, *arguments], cwd=root, input=given, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def tree(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def ignoring(root: Path, directory: str, text: str) -> None:
    (root / directory).mkdir(parents=True, exist_ok=True)
    (root / directory / ".gitignore").write_bytes(text.encode())


def listed_by_git(root: Path) -> set[str]:
    output = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    return {path for path in os.fsdecode(output).split("\0") if path and not path.endswith("/")}


def admitted(root: Path) -> set[str]:
    """Walk with the ignore files alone. Each directory's entries may be passed, as the scan does, or not."""
    found = walked(root, with_listing=True)
    assert walked(root, with_listing=False) == found
    return found


def walked(root: Path, with_listing: bool) -> set[str]:
    rules, found, open_directories = IgnoreFiles(root), set[str](), [""]
    while open_directories:
        directory = open_directories.pop()
        every = list(os.scandir(root / directory))
        if with_listing:
            rules.listed(directory, {entry.name for entry in every})
        for entry in every:
            path = f"{directory}/{entry.name}" if directory else entry.name
            is_directory = entry.is_dir(follow_symlinks=False)
            match = None if entry.name == ".git" else rules.decide(path, is_directory)
            if entry.name == ".git" or (match is not None and match.ignored):
                continue
            (open_directories.append if is_directory else found.add)(path)
    return found


NASTY = {
    "negation": ({"": "*.log\n!keep.log\n"}, "a.log keep.log d/keep.log d/b.log"),
    "anchoring": ({"": "/a\nb/c\n"}, "a d/a b/c d/b/c"),
    "directories only": ({"": "out/\n"}, "out/a d/out d2/out/b"),
    "no return below an ignored directory": ({"": "d/\n!d/keep\n"}, "d/keep d/other"),
    "return where only the content is ignored": ({"": "d/*\n!d/keep\n"}, "d/keep d/other"),
    "nested overrides": ({"": "*.x\n", "d": "!*.x\n", "d/e": "f.x\n"}, "a.x d/a.x d/e/f.x d/e/g.x"),
    "leading **": ({"": "**/x\n**/y/z\n"}, "x d/x d/e/x y/z d/y/z d/y/w"),
    "inner **": ({"": "a/**/b\n"}, "a/b a/c/b a/c/d/b c/a/b"),
    "trailing **": ({"": "a/**\n!a/**/\n!a/**/k\n"}, "a/b a/c/b a/c/k a/k"),
    "stars within a name": ({"": "a*b**c\nd/**e\n"}, "axbxc abc d/1e d/1f d/x/e"),
    "only stars": ({"": "**\n!*.md\n!*/\n"}, "a.md d/b.md d/c.txt"),
    "trailing spaces": ({"": "a  \nb\\ \nc\\  \n"}, "a b c|b |c |a "),
    "escapes": ({"": "\\#a\n\\!b\n\\*c\nd\\\n\\e\n"}, "#a !b *c xc d e"),
    "comments": ({"": "#a\n a\n"}, "#a|a| a"),
    "brackets": (
        {"": "[abc]1\n[!a-y]2\n[]-]3\n[[:digit:]]4\n[\\]]5\n[z\n[^a]6\n"},
        "a1 d1 z2 b2 ]3 -3 x3 74 x4 ]5 [z a6 b6",
    ),
    "question marks are bytes": ({"": "?\n"}, "a é 漢"),
    "line ends of Windows": ({"": "a\r\n!d/a\r\n*.x\r\n"}, "a d/a b.x"),
    "byte order mark": ({"": "\ufeffa\n"}, "a b"),
    "case": ({"": "Readme\n*.TXT\n"}, "readme README Readme a.txt a.TXT"),
    "empty patterns": ({"": "/\n//\n!\n!/\n   \n"}, "a d/a"),
    "a file and a directory of one name": ({"": "a/b/\n", "a": "!b\n"}, "a/b/c a/d"),
    "ignore files ignored": ({"": ".gitignore\n", "d": "x\n"}, "d/x d/y"),
}  # fmt: skip


@pytest.mark.parametrize(("ignore_files", "paths"), NASTY.values(), ids=NASTY.keys())
def test_rules_agree_with_git(tmp_path: Path, ignore_files: dict[str, str], paths: str) -> None:
    git(tmp_path, "init", "-q")
    tree(tmp_path, *paths.split("|" if "|" in paths else " "))
    for directory, text in ignore_files.items():
        ignoring(tmp_path, directory, text)
    assert admitted(tmp_path) == listed_by_git(tmp_path)


def test_ignore_files_apply_without_a_repository(tmp_path: Path) -> None:
    tree(tmp_path, "a.log", "d/b.log", "d/c")
    ignoring(tmp_path, "", "*.log\n")
    assert admitted(tmp_path) == {".gitignore", "d/c"}


def test_info_exclude_and_user_file_apply_in_every_worktree(tmp_path: Path, user_config: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    tree(main, "kept")
    git(main, "init", "-q")
    git(main, "add", ".")
    git(main, "commit", "-qm", "first")
    git(main, "worktree", "add", "-q", str(linked))
    (main / ".git" / "info" / "exclude").write_text("/local\n!b.user\n")
    (user_config / "git").mkdir()
    (user_config / "git" / "ignore").write_text("*.user\n")
    for root in (main, linked):
        tree(root, "local", "d/local", "a.user", "b.user")
        assert listed_by_git(root) == {"kept", "d/local", "b.user"}
        assert admitted(root) - {".git"} == {"kept", "d/local", "b.user"}


def test_configured_ignore_file_replaces_the_usual_one(tmp_path: Path, user_config: Path) -> None:
    git(tmp_path, "init", "-q")
    (user_config / "git").mkdir()
    (user_config / "git" / "ignore").write_text("a\n")
    (user_config / "mine").write_text("b\n")
    tree(tmp_path, "a", "b", "patterns")
    git(tmp_path, "config", "--global", "core.excludesFile", str(user_config / "mine"))
    assert admitted(tmp_path) == listed_by_git(tmp_path) == {"a", "patterns"}
    (tmp_path / "patterns").write_text("a\n")
    git(tmp_path, "config", "core.excludesFile", "patterns")
    assert admitted(tmp_path) == listed_by_git(tmp_path) == {"b", "patterns"}


@pytest.mark.parametrize("place", ["{}/outside", "../outside", "link", "~/outside", "info/../../../outside"])
def test_repository_cannot_name_an_ignore_file_outside_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    top = tmp_path / "top"
    tree(top, "a", "b")
    (tmp_path / "outside").write_text("a\n")
    (top / "link").symlink_to(tmp_path / "outside")
    git(top, "init", "-q")
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "exclude").unlink(missing_ok=True)
    (top / ".git" / "info" / "exclude").symlink_to(tmp_path / "outside")
    monkeypatch.setenv("HOME", str(tmp_path))
    git(top, "config", "core.excludesFile", place.format(tmp_path))
    assert {"a", "b"} <= admitted(top)


def test_ignore_files_above_the_folder_apply_within_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*\n")  # outside the repository
    top, folder = tmp_path / "top", tmp_path / "top" / "packages" / "app"
    tree(folder, "a.log", "gen/x", "deep/gen/x", "only", "deep/only", "kept")
    git(top, "init", "-q")
    ignoring(top, "", "*.log\n/packages/app/gen\n")
    ignoring(top, "packages", "app/only\n")
    (top / ".git" / "info" / "exclude").write_text("packages/*/kept\n")
    assert admitted(folder) == listed_by_git(folder) == {"deep/gen/x", "deep/only"}


def test_opened_folder_ignored_by_its_repository_is_searched(tmp_path: Path) -> None:
    tree(tmp_path, "out/site/a.log", "out/site/b")
    git(tmp_path, "init", "-q")
    ignoring(tmp_path, "", "*.log\nout/\n")
    assert admitted(tmp_path) == {".gitignore"}
    assert admitted(tmp_path / "out" / "site") == {"a.log", "b"}


def test_tracked_files_are_never_ignored(tmp_path: Path) -> None:
    tree(tmp_path, "a.log", "b.log", "out/deep/a", "out/deep/b", "out/other/c", "x.tmp")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "a.log", "out/deep/a", "x.tmp")
    ignoring(tmp_path, "", "*.log\nout/\n*.tmp\n")
    tracked = {"a.log", "out/deep/a", "x.tmp"}
    assert admitted(tmp_path) == listed_by_git(tmp_path) == {".gitignore", *tracked}
    (tmp_path / ".cairnignore").write_text("*.tmp\n")
    assert admitted(tmp_path) == {".gitignore", ".cairnignore", "a.log", "out/deep/a"}
    assert admitted(tmp_path / "out") == {"deep/a", "deep/b", "other/c"}


def test_inner_repository_obeys_only_its_own_files(tmp_path: Path) -> None:
    inner = tmp_path / "libs" / "inner"
    tree(inner, "a.log", "b.own", "c.tracked", "d.cairn")
    git(inner, "init", "-q")
    git(inner, "add", "c.tracked")
    ignoring(inner, "", "*.tracked\n")
    (inner / ".git" / "info" / "exclude").write_text("*.own\n")
    git(tmp_path, "init", "-q")
    ignoring(tmp_path, "", "*.log\n")
    (tmp_path / ".cairnignore").write_text("*.cairn\n")
    assert admitted(inner) == listed_by_git(inner) | {".gitignore"}
    found = admitted(tmp_path)
    inside = {path.removeprefix("libs/inner/") for path in found if path.startswith("libs/inner/")}
    assert inside == listed_by_git(inner) - {"d.cairn"}


def test_submodule_in_an_ignored_directory_is_entered(tmp_path: Path) -> None:
    source, top = tmp_path / "source", tmp_path / "top"
    tree(source, "lib.c")
    git(source, "init", "-q")
    git(source, "add", ".")
    git(source, "commit", "-qm", "first")
    top.mkdir()
    git(top, "init", "-q")
    git(top, "submodule", "add", "-q", str(source), "third/lib")
    ignoring(top, "", "third/\n")
    tree(top, "third/junk")
    assert {path for path in admitted(top) if path.startswith("third/")} == {"third/lib/lib.c"}


def test_linked_ignore_files_do_not_count(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    tree(tmp_path, "a")
    (tmp_path / "patterns").write_text("a\n")
    (tmp_path / ".gitignore").symlink_to("patterns")
    assert "a" in listed_by_git(tmp_path)
    assert "a" in admitted(tmp_path)


@pytest.mark.parametrize("kind", ["--split-index", "sparse", "version 4", "sha256"])
def test_tracked_files_are_read_from_every_kind_of_index(tmp_path: Path, kind: str) -> None:
    git(tmp_path, "init", "-q", *(["--object-format=sha256"] if kind == "sha256" else []))
    tree(tmp_path, "d/a.log", "c.log", *(["e/b.log"] if kind == "sparse" else []))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    if kind == "--split-index":
        git(tmp_path, "update-index", kind)
    elif kind == "version 4":
        git(tmp_path, "update-index", "--index-version=4")
    elif kind == "sparse":
        git(tmp_path, "sparse-checkout", "set", "--cone", "--sparse-index", "d")
        assert b"sdir" in (tmp_path / ".git" / "index").read_bytes()
        shutil.rmtree(tmp_path / ".git" / "objects")
    ignoring(tmp_path, "", "*.log\n")
    tree(tmp_path, "d/untracked.log")
    assert admitted(tmp_path) == {".gitignore", "d/a.log", "c.log"}


def test_case_is_ignored_if_git_is_configured_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.ignoreCase", "true")
    tree(tmp_path, "A.LOG", "Out/x", "b[C]", "kept")
    ignoring(tmp_path, "", "*.log\n/oUT/\nB?c*\n")
    assert admitted(tmp_path) == listed_by_git(tmp_path) == {".gitignore", "kept"}


def test_ignore_files_apply_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    git(tmp_path, "init", "-q")
    tree(tmp_path, "a.log", "b")
    git(tmp_path, "add", "a.log")
    ignoring(tmp_path, "", "*.log\n")
    monkeypatch.setenv("PATH", "")
    assert admitted(tmp_path) == {".gitignore", "a.log", "b"}
    assert "git was not found" in caplog.text


# --- properties ------------------------------------------------------------------------------------

_NAMES = st.sampled_from(
    ["a", "b", "A", "ab", "a.b", "é", "-", "]", "[a]", "a b", "a ", "#", "!", "\\", "$", "build"]
)
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_PIECES = st.sampled_from(
    [
        "a", "b", "A", "build", "*", "**", "?", "/", "[ab]", "[!a]", "[a-c]", "[[:alpha:]]", "[]-]", "[", "]",
        "!", "#", " ", "\\", "\\ ", "\\/", "é", ".", "-", "**/", "/**", "*.b", "$", "(", "|", "{a}", "\t",
    ]
)  # fmt: skip
_LINES = st.lists(_PIECES, min_size=1, max_size=5).map("".join)


def _settled(line: str) -> bool:
    """Exclude `x**/`, which git before 2.53 reads as `x` and any directories below instead of `x*/`, and
    `/x**`, which 2.39 reads likewise."""
    return not re.search(r"[^/*!]\*\*+(/|\\/| *$)", line)


_FILES = st.tuples(
    st.lists(_LINES.filter(_settled), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans()
).map(lambda parts: parts[1].join(parts[0]) + (parts[1] if parts[2] else ""))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("scratch")
    git(root, "init", "-q")
    git(root, "config", "core.ignoreCase", "false")
    return root


def deciding_lines(root: Path, paths: list[str]) -> dict[str, tuple[str, int] | None]:
    """Return for each path the ignore file and line that `git check-ignore` names."""
    given = "\0".join(paths).encode() + b"\0"
    answer = git(root, "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n", given=given)
    fields = answer.decode().split("\0")[:-1]
    rows = zip(fields[0::4], fields[1::4], fields[3::4], strict=True)
    return {path: (source, int(line)) if source else None for source, line, path in rows}


def decide(rules: IgnoreFiles, path: str, is_directory: bool) -> Match | None:
    parts = path.split("/")
    for depth in range(1, len(parts)):
        match = rules.decide("/".join(parts[:depth]), directory=True)
        if match is not None and match.ignored:
            return match
    return rules.decide(path, is_directory)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(_FILES, st.dictionaries(_NAMES, _FILES, max_size=2), st.sets(_PATHS, min_size=5, max_size=15))
def test_deciding_line_agrees_with_git(
    scratch: Path, top: str, nested: dict[str, str], paths: set[str]
) -> None:
    for old in scratch.iterdir():
        if old.is_dir() and old.name != ".git":
            shutil.rmtree(old)
    ignoring(scratch, "", top)
    for directory, text in nested.items():
        ignoring(scratch, directory, text)
    expected = deciding_lines(scratch, sorted(paths))
    rules = IgnoreFiles(scratch)
    for path, line in expected.items():
        match = decide(rules, path, (scratch / path).is_dir())
        assert (match and (match.source, match.pattern.line)) == line, (path, match, line)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 250),
        ("**/a/" * 40 + "b", "a/" * 500 + "c"),
        ("**/*a*/" * 30 + "b", "/".join(["a" * 200] * 20)),
        ("[!b]*" * 50 + "b", "a" * 250),
        ("/" + "*/" * 300 + "b", "a/" * 300 + "a"),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    started = time.process_time()
    assert PatternList([pattern.encode()]).match(path, path.rpartition("/")[2], False) is None
    assert time.process_time() - started < 1


def test_huge_ignore_file_is_cut_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ignore_patterns, "_MAX_EXPRESSIONS", 100)
    tree(tmp_path, "name10", "a7b9c", "x")
    (tmp_path / ".gitignore").write_text("".join(f"name{n}\na{n}b*c\n" for n in range(101)) + "x\n")
    assert admitted(tmp_path) == {".gitignore", "x"}
    assert "is too long; its end, from line 201 on" in caplog.text
