"""`cairn/change`: what a change touches."""

from __future__ import annotations

import enum

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.search_messages import IndexState, Range
from cairn.schema.bounds import NOT_BLANK, at_most, within


@frozen
class ChangeParams:
    """The params of `cairn/change`. Without `diff`, the change is what differs between `base` and the files
    of the folder: staged, unstaged and new files, and unsaved text."""

    base: str | None = field(default=None, metadata=at_most(chars=1_000, pattern=NOT_BLANK))
    """A commit, branch or tag, `HEAD~3` too. By default it is the last commit. For a team's index, a branch
    or commit of which it has an index."""
    diff: str | None = field(default=None, metadata=at_most(chars=50_000_000))
    """The text of a unified diff. The folder may have the state before or after it."""
    staged: bool = False
    """Whether only what is staged counts."""
    folder: str = ""
    """The URI of the workspace folder with the change; "" for the first folder with one."""
    limit: int = field(default=20, metadata=within(0, 500))
    """How many entries each list has at most, besides up to 200 places that still use an old definition."""
    max_tokens: int = field(default=4_000, metadata=within(0, 100_000))
    """The size limit of the prompt in tokens."""
    min_confidence: float = field(default=0.05, metadata=within(0, 1))
    """Tests and companions below this confidence are left out. Their confidence is the share of such files
    that belonged to the change in other repositories' commits."""
    seconds: float = field(default=2.0, metadata=within(0.1, 60))
    """How long to look, about. After that, the answer has what was found, and says what is missing."""

    def __attrs_post_init__(self) -> None:
        if self.diff is not None and self.base is not None:
            raise InvalidRequestError("diff", "give either a diff, or a base to compare the files with")
        if self.diff is not None and self.staged:
            raise InvalidRequestError("staged", "a diff as text has no stage; leave one of them out")
        if self.base is not None and not self.base.strip():
            raise InvalidRequestError("base", "is empty; give a commit, branch or tag")


class FileStatus(enum.StrEnum):
    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RENAMED = "renamed"
    """The file has a new path, and perhaps another text."""


@frozen
class ChangedLines:
    """A hunk without context: the lines that it replaces, and what with. One of the two may be empty."""

    before: Range
    """Whole lines of the file before the change."""
    after: Range
    """Whole lines of the file after the change."""
    removed: tuple[str, ...] = ()
    """The lines before. Those of large changes are left out."""
    added: tuple[str, ...] = ()
    """The lines after. Those of large changes are left out."""


@frozen
class ChangedFile:
    path: str
    """The path after the change; of a removed file, the path before."""
    uri: str
    status: FileStatus
    before_path: str | None = None
    """The path before the change, if it was another one."""
    hunks: tuple[ChangedLines, ...] = ()
    problem: str = ""
    """Why the definitions of the file were not compared, such as `binary file`; "" if they were."""


class ChangeKind(enum.StrEnum):
    """What happened to a definition; the most telling kind counts."""

    REMOVED = "removed"
    SIGNATURE = "signature"
    """Its head changed: parameters, types, the supertypes of a class, the value of a constant's type."""
    RENAMED = "renamed"
    MOVED = "moved"
    """It is in another file or in another definition, under the same name."""
    BODY = "body"
    ADDED = "added"
    COMMENT = "comment"
    """Only comments, documentation or blank lines changed."""
    LINES = "lines"
    """Lines outside of all definitions changed, or lines of a file without definitions."""


@frozen
class ChangedDefinition:
    """A definition that the change touches."""

    path: str
    uri: str
    folder: str
    """The URI of the workspace folder."""
    range: Range
    """The whole lines of the definition after the change; of a removed one, before the change."""
    symbol: str
    """The name, qualified by the enclosing definitions; "" for lines outside of all definitions."""
    kind: ChangeKind
    definition_kind: str
    """`function`, `class`, `method`, …; "" for lines outside of all definitions."""
    line: str
    """The head of the definition after the change; of a removed one, before the change."""
    before: ChangedFrom | None = None
    """The definition before the change; null if it is new or removed."""
    hunks: tuple[int, ...] = ()
    """The indexes of the hunks of the file that touch it."""
    reasons: tuple[str, ...] = ()
    """What changed, in a few words."""
    confidence: float = 1.0
    """How sure it is that this is what happened. Renames and moves are found by likeness."""


@frozen
class ChangedFrom:
    """A definition before the change."""

    path: str
    symbol: str
    range: Range
    line: str
    """The head of the definition."""


@frozen
class ChangePlace:
    """A place that a change concerns, best first in its list."""

    path: str
    uri: str
    folder: str
    """The URI of the workspace folder."""
    range: Range
    """The place in the file as it is now: the referring name, the test, the sentence; else the first line."""
    symbol: str
    """The qualified name of the function or type around the place, or of the test; "" if there is none."""
    kind: str
    """For dependents `call`, `import`, `inherit`, `override`, `read`, `write` or `request`. For tests
    `changed`, `call`, `indirect`, `import`, `name`, `together` or `words`. For companions `together`, `twin`,
    `document`, `changelog`, `schema`, `generated`, `reference` or `words`. For unreached definitions, the
    kind of the change."""
    reasons: tuple[str, ...]
    """Why the place is concerned, the strongest reason first."""
    confidence: float
    """From 0 to 1."""
    line: str = ""
    """The line of the place; of a document, the sentence. A very long one is cut."""
    is_stale: bool = False
    """Whether the place still uses a definition that was removed, renamed or moved, or calls it in a way that
    its new signature may not take."""
    about: tuple[int, ...] = ()
    """The indexes, in `changed`, of the definitions that the place is concerned by."""


@frozen
class TestCommand:
    """A command of the project's own test runner."""

    command: str
    folder: str
    """The folder to run it in, relative to the workspace folder; "" for the workspace folder itself."""
    paths: tuple[str, ...]
    """The test files that it runs."""


@frozen
class ChangeAnswer:
    files: tuple[ChangedFile, ...]
    changed: tuple[ChangedDefinition, ...]
    """The changed definitions, the most telling first: removed ones and those with a new signature."""
    dependents: tuple[ChangePlace, ...]
    """Places that depend on them, those that still use an old definition first."""
    tests: tuple[ChangePlace, ...]
    """The tests to run; one place for each test file, with its likeliest test."""
    commands: tuple[TestCommand, ...]
    """Commands that run these tests, as far as the runner is known."""
    companions: tuple[ChangePlace, ...]
    """What usually changes with it and did not, and documents that name what changed."""
    unreached: tuple[ChangePlace, ...]
    """The changed definitions that no test reaches."""
    prompt: str
    """A prompt for a reviewer, in Markdown."""
    prompt_tokens: int
    base: str
    """The hash of the commit before the change; "" for a diff as text."""
    complete: bool
    """Whether everything was looked at; `messages` say what was not."""
    messages: tuple[str, ...]
    """Sentences on what is left out, and why."""
    left_out: dict[str, int]
    """How many entries the limit left out of `changed`, `dependents` and `unreached`, by the list's name."""
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step."""
