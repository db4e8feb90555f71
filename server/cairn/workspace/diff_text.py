"""Parse unified diffs: those of git, `diff -u`, Subversion and Mercurial, also within mails.

The time is linear in the text. Wrong numbers of lines in a hunk's header, as people and language models write
them, do no harm: a hunk also ends where its lines end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import Factory, define, frozen

from cairn.errors import InvalidRequestError

_NOTHING = "/dev/null"
_HUNK = re.compile(r"@@(?: -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?)? ?(?:\.\.\. )?@@|@@$")
_COMBINED = re.compile(r"diff --(?:cc|combined) |@@@+ ", re.MULTILINE)
_OTHER_FORMATS = re.compile(r"\d+(?:,\d+)?[acd]\d+(?:,\d+)?$|\*{3} \S.*\n--- |\*{15}$", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[\d;]*[mK]")
_IS_COLOURED = re.compile(r"^\x1b\[[\d;]*m(?:diff |--- |@@)", re.MULTILINE)
_NO_FILE_BEFORE = re.compile(r"(?:1970-01-01|1969-12-31|\(nonexistent\)|\(revision 0\))|Thu Jan 0?1 .*1970")
"""What stands after the path of a file that does not exist: the date zero, or no revision."""
_PREFIX = re.compile(r"[a-z0-9]/")
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_REMEDY = "give the output of `git diff`, `diff -u` or `svn diff`"


@frozen
class DiffHunk:
    """Neighbouring lines of a diff, with context."""

    before_start: int
    """The 0-based first line; -1 if the diff has no numbers."""
    after_start: int
    lines: tuple[str, ...]
    """The lines with their marks: ` `, `-` or `+`."""


@frozen
class DiffFile:
    """What a diff says about one file."""

    path: str
    """The path after the change; of a removed file, the path before."""
    before_path: str | None
    """The path before the change; None for a new file."""
    is_removed: bool
    original: str | None
    """The path of the file that a new file is a copy of, with the lines of the hunks changed."""
    is_binary: bool
    hunks: tuple[DiffHunk, ...]


def parse_diff(text: str) -> list[DiffFile]:
    """Return the files of a unified diff, in order; a file may occur several times.

    Raise InvalidRequestError, whose text says what to do, if this is not a unified diff.
    """
    if not text.strip():
        raise InvalidRequestError(
            "diff", f"is empty: nothing changed, or the command that made it failed; {_REMEDY}"
        )
    if _IS_COLOURED.search(text):
        text = _COLOURS.sub("", text)
    # Mails and Windows may have changed the line ends, and a change of line ends alone is none here.
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    files = list(_files(lines))
    if files:
        return files
    if _OTHER_FORMATS.search(text):
        raise InvalidRequestError("diff", "is not a unified diff; run `diff -u`, or `git diff`")
    raise InvalidRequestError("diff", f"has no changes of files in the unified format; {_REMEDY}")


def _files(lines: Sequence[str]) -> Iterator[DiffFile]:
    header = _Header()
    hunks = list[DiffHunk]()
    at = 0
    while at < len(lines):
        line = lines[at]
        if _COMBINED.match(line):
            raise InvalidRequestError(
                "diff",
                "is the combined diff of a merge, which does not have all changed lines; compare with one"
                " parent, as by `git diff MERGE^1 MERGE`",
            )
        if line.startswith("@@") and header.is_begun and (match := _HUNK.match(line)):
            at, hunk = _hunk(lines, at + 1, match)
            hunks.append(hunk)
            continue
        if header.begins_new(lines, at, bool(hunks)):
            yield from header.file(hunks)
            header, hunks = _Header(), []
        header.read(line)
        at += 1
    yield from header.file(hunks)


def _hunk(lines: Sequence[str], at: int, match: re.Match[str]) -> tuple[int, DiffHunk]:
    """Return the hunk whose lines begin at `at`, and the index of the line after it."""
    before, removed, after, added = (int(group) if group else -1 for group in match.groups())
    has_numbers = match[1] is not None
    left_before = (1 if removed < 0 else removed) if has_numbers else 0
    left_after = (1 if added < 0 else added) if has_numbers else 0
    # A hunk without lines is after the line of its number; all others begin at it.
    starts = (
        before - (left_before > 0) if has_numbers else -1,
        after - (left_after > 0) if has_numbers else -1,
    )
    found, blank = list[str](), 0
    while at < len(lines):
        line = lines[at]
        mark = line[:1]
        blank = 0 if mark else blank + 1
        is_open = left_before > 0 or left_after > 0
        if mark == "\\":
            at += 1
            continue
        if not mark:
            if not is_open and not _goes_on(lines, at, has_numbers):
                break
            mark, line = " ", " "  # Mail programs remove blanks at the end of a line.
        elif mark not in " +-" or (not is_open and _is_header(lines, at)):
            break
        found.append(line)
        left_before -= mark != "+"
        left_after -= mark != "-"
        at += 1
    if blank and (left_before > 0 or left_after > 0):  # These lines only end the text.
        del found[-blank:]
    return at, DiffHunk(*starts, tuple(found))


def _goes_on(lines: Sequence[str], at: int, has_numbers: bool) -> bool:
    """Return whether a hunk without numbers goes on after the empty line at `at`."""
    return not has_numbers and at + 1 < len(lines) and lines[at + 1][:1] in (" ", "+", "-")


def _is_header(lines: Sequence[str], at: int) -> bool:
    """Return whether the line begins the next file, or the end of a mail."""
    line = lines[at]
    is_file = line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
    return is_file or line.rstrip() == "--"


@define
class _Header:
    """The lines about a file before its hunks."""

    git: tuple[str, str] | None = None
    old: str | None = None
    new: str | None = None
    moved: dict[str, str] = Factory(dict)
    """The paths of `rename from`, `rename to`, `copy from` and `copy to`."""
    is_new: bool = False
    is_removed: bool = False
    is_binary: bool = False
    named: str = ""
    """The path of Subversion's line `Index:`."""

    @property
    def is_begun(self) -> bool:
        return self.git is not None or self.new is not None or bool(self.named)

    def begins_new(self, lines: Sequence[str], at: int, has_hunks: bool) -> bool:
        """Return whether the line belongs to the next file."""
        line = lines[at]
        if line.startswith(("diff ", "Index: ")):
            return self.is_begun
        if line.startswith(("commit ", "From ")):  # The next commit of `git log -p` or `git format-patch`.
            return has_hunks
        is_name = line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
        return is_name and (has_hunks or self.new is not None)

    def read(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "diff" and rest.startswith("--git "):
            self.git = _names_of_git(rest.removeprefix("--git "))
        elif kind == "Index:":
            self.named = rest.strip()
        elif kind == "---" and rest:
            self.old, self.is_new = _name(rest), self.is_new or bool(_NO_FILE_BEFORE.search(_date(rest)))
        elif kind == "+++" and rest and (self.old is not None):
            self.new = _name(rest)
            self.is_removed = self.is_removed or bool(_NO_FILE_BEFORE.search(_date(rest)))
        elif kind in ("rename", "copy") and self.git is not None and rest.startswith(("from ", "to ")):
            side, _, path = rest.partition(" ")
            self.moved[f"{kind} {side}"] = _unquoted(path)
        elif self.git is not None and line.startswith("new file mode"):
            self.is_new = True
        elif self.git is not None and line.startswith("deleted file mode"):
            self.is_removed = True
        elif line.startswith(
            ("Binary files ", "GIT binary patch", "Cannot display: file marked as a binary")
        ):
            self.is_binary = True
            if self.git is None and (match := re.match(r"Binary files (.+) and (.+) differ$", line)):
                self.old, self.new = match[1], match[2]

    def file(self, hunks: Sequence[DiffHunk]) -> Iterator[DiffFile]:
        """Yield the file if the header and the hunks describe one."""
        is_named = self.new is not None or self.git is not None or bool(self.named)
        if not is_named or (not hunks and self.git is None and not self.is_binary):
            return
        old, new = self._paths()
        is_new = self.is_new or old == _NOTHING or self._is_empty_before(hunks)
        is_removed = (self.is_removed or new == _NOTHING) and not is_new
        is_copy = "copy to" in self.moved
        path = old if is_removed else new
        yield DiffFile(
            path=path,
            before_path=None if is_new or is_copy else old,
            is_removed=is_removed,
            original=old if is_copy else None,
            is_binary=self.is_binary,
            hunks=tuple(hunks),
        )

    def _is_empty_before(self, hunks: Sequence[DiffHunk]) -> bool:
        """Return whether a file of a diff without git's header is new, as far as the hunks show."""
        return (
            self.git is None
            and len(hunks) == 1
            and hunks[0].before_start == 0
            and all(line[0] == "+" for line in hunks[0].lines)
            and hunks[0].after_start == 0
        )

    def _paths(self) -> tuple[str, str]:
        """Return the paths before and after, without prefixes; `/dev/null` for a missing file."""
        for kind in ("rename", "copy"):
            if f"{kind} from" in self.moved and f"{kind} to" in self.moved:
                return self.moved[f"{kind} from"], self.moved[f"{kind} to"]
        named = self.git or (self.named, self.named)
        old, new = self.old or named[0], self.new or named[1]
        if self.git is None and self.named:
            return self.named, self.named
        if _NOTHING in (old, new):
            other = new if old == _NOTHING else old
            has_prefix = _PREFIX.match(other) and (self.git is None or self.git[0] != self.git[1])
            other = other[2:] if has_prefix else other
            return (_NOTHING, other) if old == _NOTHING else (other, _NOTHING)
        if old == new:
            return old, new
        if self.git is not None or (_PREFIX.match(old) and _PREFIX.match(new)):
            return old[2:], new[2:]
        if (
            old.partition("/")[2] == new.partition("/")[2] != ""
        ):  # Two folders are compared: `diff -ru old new`.
            return new.partition("/")[2], new.partition("/")[2]
        return new, new  # Two files of other names are two states of one file.


def _names_of_git(rest: str) -> tuple[str, str]:
    """Return the two names of a line `diff --git a/PATH b/PATH`, in which the paths are equal."""
    if '"' in rest:
        names = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', rest)
        return (_unquoted(names[0]), _unquoted(names[-1])) if names else (rest, rest)
    middle = len(rest) // 2
    one, other = rest[:middle], rest[middle + 1 :]
    if rest[middle : middle + 1] == " " and (one == other or one[2:] == other[2:]):
        return one, other
    one, _, other = rest.partition(" ")
    return one, other


def _name(rest: str) -> str:
    """Return the path in a line `--- PATH` or `+++ PATH`, without a date after it."""
    if rest.startswith('"'):
        match = re.match(r'"(?:[^"\\]|\\.)*"', rest)
        return _unquoted(match[0]) if match else rest
    return rest.partition("\t")[0].rstrip().replace("\\", "/")


def _date(rest: str) -> str:
    return rest.partition("\t")[2]


def _unquoted(name: str) -> str:
    """Return a path that git may have quoted as in C."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    plain = _ESCAPE.sub(
        lambda match: bytes([int(match[1], 8) & 255 if len(match[1]) == 3 else _ESCAPED[match[1][0]]]),
        name[1:-1].encode("utf-8", "surrogateescape"),
    )
    return plain.decode("utf-8", "replace")
