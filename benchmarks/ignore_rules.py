"""Compares Cairn's ignore rules with pathspec and `git check-ignore`: hostile patterns, agreement, and time.

    python benchmarks/ignore_rules.py

It makes its patterns and a tree of 21,000 files itself. pathspec comes with the development environment.
"""

from __future__ import annotations

import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

from cairn.settings.tree import IndexSettings
from cairn.workspace.ignore_patterns import PatternList, path_key
from cairn.workspace.scan import FileRules, ScanReport, scan

HOSTILE = [
    ("*a" * 60 + "b", "a" * 250),
    ("**/a/" * 40 + "b", "a/" * 500 + "c"),
    ("**/*a*/" * 30 + "b", "/".join(["a" * 200] * 20)),
    ("[!b]*" * 50 + "b", "a" * 250),
    ("/" + "*/" * 300 + "b", "a/" * 300 + "a"),
]
USUAL = "*.b build/ /a a/b !a.b **/a a/**/b a/** * !*/ a* /build ab/ !build/".split()
ODD = [
    *"a b A build * ** ? / [ab] [!a] [a-c] [[:alpha:]] []-] [ ] ! # \\ \\/ é . - *.b $ ( | {a}".split(),
    " ",
]
NAMES = [*"a b A ab a.b é - ] [a] # ! \\ $ build".split(), "a b", "a "]
LIST = [
    *"*.log node_modules/ /dist *.tmp build/ !keep.log *~ __pycache__/ *.py[cod] *.so .cache target/".split(),
    *(f"name{number}" for number in range(20)), *(f"folder{number}/" for number in range(20)),
    "**/generated/*.ts", "pkg*/mod3/**/file2.*",
]  # fmt: skip
SECONDS = 5.0


def by_cairn(lines: Sequence[str], path: str) -> bool:
    patterns, parts = PatternList.of_settings(lines), path.split("/")
    for depth in range(1, len(parts) + 1):
        key = path_key("/".join(parts[:depth]))
        found = patterns.match(key, key.rpartition("/")[2], depth < len(parts))
        if found is not None and (depth == len(parts) or not found.negated):
            return not found.negated
    return False


def by_pathspec(lines: Sequence[str], path: str) -> bool:
    return bool(GitIgnoreSpec.from_lines(lines).match_file(path))


def by_git(root: Path, lines: Sequence[str], paths: Sequence[str]) -> list[bool]:
    (root / ".gitignore").write_text("\n".join(lines) + "\n")
    command = ("git", "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n")
    given = "".join(f"{path}\0" for path in paths).encode()
    done = subprocess.run(command, cwd=root, input=given, capture_output=True, timeout=SECONDS, check=False)
    fields = done.stdout.decode().split("\0")[:-1]
    return [bool(source) and fields[at + 2][0] != "!" for at, source in list(enumerate(fields))[::4]]


def ends(match: Callable[..., object], *given: object) -> bool:
    process = multiprocessing.Process(target=match, args=given)
    process.start()
    process.join(SECONDS)
    process.kill()
    return process.exitcode == 0


def main() -> None:
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        subprocess.run(("git", "init", "--quiet"), cwd=root, check=True)
        subprocess.run(("git", "config", "core.ignoreCase", "false"), cwd=root, check=True)
        for name, match in (("Cairn", by_cairn), ("pathspec", by_pathspec)):
            print(name, "ends for", sum(ends(match, [pattern], path) for pattern, path in HOSTILE), "of 5")
        print("git ends for", sum(ends(by_git, root, [pattern], [path]) for pattern, path in HOSTILE), "of 5")
        for kind in ("usual", "odd"):
            differ, refused, pairs = {by_cairn: 0, by_pathspec: 0}, 0, 0
            for _ in range(300):
                lines = [
                    chance.choice(USUAL) if kind == "usual" else "".join(chance.choices(ODD, k=3))
                    for _ in range(chance.randint(1, 6))
                ]
                paths = ["/".join(chance.choices(NAMES, k=chance.randint(1, 4))) for _ in range(12)]
                pairs += len(paths)
                for path, expected in zip(paths, by_git(root, lines, paths), strict=True):
                    differ[by_cairn] += by_cairn(lines, path) != expected
                    try:
                        differ[by_pathspec] += by_pathspec(lines, path) != expected
                    except ValueError:
                        refused += 1
            print(kind, pairs, "pairs differ from git:", *differ.values(), "refused by pathspec:", refused)
        for number in range(21_000):
            place = root / f"pkg{number % 30}/mod{number // 30 % 14}/sub{number // 420 % 5}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"file{number}.{chance.choice(['py', 'ts', 'md', 'go', 'log'])}").touch()
        (root / ".gitignore").write_text("\n".join(LIST) + "\n")
        began = time.process_time()
        entries = list(scan(root, FileRules(root, IndexSettings()), ScanReport()))
        print("scan:", len(entries), "files,", round(time.process_time() - began, 2), "s of CPU time")
        patterns, specification = PatternList.of_settings(LIST), GitIgnoreSpec.from_lines(LIST)

        def matches(path: str) -> object:
            return patterns.match(path, path.rpartition("/")[2], False)

        for name, match_path in (("Cairn", matches), ("pathspec", specification.match_file)):
            began = time.process_time()
            for entry in entries:
                match_path(entry.path)
            print(f"{len(LIST)} patterns by {name}:", round(time.process_time() - began, 2), "s of CPU time")


if __name__ == "__main__":
    sys.exit(main())
