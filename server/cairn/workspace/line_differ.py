"""Find which lines differ between two states of files, and which files have a new path, with git's `diff`.

git's hunks begin and end where people expect it, which those of a plain longest common subsequence do not.
git compares copies of the texts in a temporary folder. Their names there are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from cairn.workspace.diff import Hunk
from cairn.workspace.git import Git, GitError, git_folder

Lines = Sequence[str]

_RENAME_LIMIT = 200
"""With more pairs of removed and added files than the square of this, only files of equal text are pairs."""
_COMMAND = (
    *("diff", "--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--text", "--unified=0"),
    *("--find-renames=50%", f"-l{_RENAME_LIMIT}", "--src-prefix=", "--dst-prefix=", "before", "after"),
)
_HEADER = re.compile(
    rb"^(?:diff --git (before|after)/(\d+) (before|after)/(\d+)$|@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@)",
    re.MULTILINE,
)
"""The beginning of a file or of a hunk. Lines of the files have a mark before them."""
Pair = tuple[str | None, str | None]
"""The paths of a file before and after the change; None where it does not exist."""


@frozen
class Differences:
    hunks: Mapping[Pair, tuple[Hunk, ...]]
    """The hunks of each file. A file that only has a new path has none."""
    complete: bool
    """Whether there was time to find the smallest hunks, and files with a new path."""


def differences(before: Mapping[str, Lines], after: Mapping[str, Lines], deadline: float) -> Differences:
    """Compare files, given as lines without line ends, by path. Equal files are left out.

    After the deadline, each further file has one hunk from its first to its last differing line.
    """
    changed = {path for path in before.keys() & after.keys() if list(before[path]) != list(after[path])}
    paths = sorted(changed | (before.keys() ^ after.keys()))
    pairs = [(path if path in before else None, path if path in after else None) for path in paths]
    hunks, complete = dict[Pair, list[Hunk]](), True
    try:
        for pair, hunk in _by_git(paths, before, after, deadline):
            hunks.setdefault(pair, []).extend(hunk)
    except GitError:
        complete = False
        if hunks:
            hunks.popitem()  # git may not have written all hunks of the last file.
    known = {path for pair in hunks for path in pair}
    for pair in pairs:
        if not known.intersection(filter(None, pair)):
            old, new = (texts.get(path or "", ()) for texts, path in zip((before, after), pair, strict=True))
            hunks[pair] = list(one_hunk(old, new))
    return Differences({pair: tuple(found) for pair, found in hunks.items()}, complete)


def _by_git(
    paths: Sequence[str], before: Mapping[str, Lines], after: Mapping[str, Lines], deadline: float
) -> Iterator[tuple[Pair, tuple[Hunk, ...]]]:
    """Yield each file that is changed or has a new path, at first without hunks, then with each hunk. Raise
    GitError."""
    files = {"before/none": b"", "after/none": b""}  # git would take a missing folder for a file.
    for side, texts in (("before", before), ("after", after)):
        for number, path in enumerate(paths):
            # git would take any two empty files for a file with a new path.
            if path in texts and (texts[path] or path in before.keys() & after.keys()):
                files[f"{side}/{number}"] = _joined(texts[path])
    if len(files) == 2:
        return
    pair: Pair | None = None
    for match in _HEADER.finditer(_output(Git({**git_folder(), **files}, deadline))):
        if match[1]:
            is_both = match[1] != match[3]  # Of a new or removed file, git names the same side twice.
            pair = (paths[int(match[2])], paths[int(match[4])]) if is_both else None
            if pair:
                yield pair, ()
        elif pair:
            old, new = before[pair[0] or ""], after[pair[1] or ""]
            starts = [_span(*match.group(5, 6)), _span(*match.group(7, 8))]
            (start, end), (start_after, end_after) = starts
            yield pair, (Hunk(start, tuple(old[start:end]), start_after, tuple(new[start_after:end_after])),)


def _output(git: Git) -> bytes:
    """Return all of git's output. Raise GitError."""
    blocks = list[bytes]()
    try:
        blocks.extend(git.run(_COMMAND))
    except GitError as problem:
        if problem.final or problem.output:  # The code 1 without a message means that there are differences.
            raise
    return b"".join(blocks)


def _span(start: bytes, count: bytes | None) -> tuple[int, int]:
    """Return the 0-based first line and the line after the last one. Without lines, git gives the line
    before."""
    lines = 1 if count is None else int(count)
    first = int(start) - (lines > 0)
    return first, first + lines


def _joined(lines: Lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def one_hunk(before: Lines, after: Lines) -> tuple[Hunk, ...]:
    """Return one hunk from the first to the last differing line, or none if there are none."""
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    removed, added = tuple(before[start : len(before) - end]), tuple(after[start : len(after) - end])
    return (Hunk(start, removed, start, added),) if removed or added else ()
