"""Answers `cairn/change`: reads a change, and collects what it touches within a limit of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from attrs import define, field

from cairn import protocol
from cairn.change.companions import companions
from cairn.change.definitions import ChangedDefinitions
from cairn.change.dependents import Dependent, States, dependents, in_order
from cairn.change.documents import documents_with_names
from cairn.change.evidence import Concerned, Evidence
from cairn.change.prompt import Findings, review_prompt
from cairn.change.test_commands import test_commands
from cairn.change.tests import tests_to_run, unreached
from cairn.change.touched import Touched
from cairn.engine.change_elsewhere import OtherRepositories
from cairn.engine.change_source import changed_folder, read_change
from cairn.engine.completeness import index_state
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.engine.results import milliseconds
from cairn.errors import OutOfTimeError
from cairn.index.store.deadline import Deadline, ended_by
from cairn.protocol.change_messages import FileStatus
from cairn.workspace.diff import Change, FileChange

_SHARES: Mapping[str, float] = {
    "change": 0.4, "definitions": 0.2, "dependents": 0.2, "tests": 0.1, "documents": 0.05, "companions": 0.07,
    "untested definitions": 0.03, "other repositories": 0.1,
}  # fmt: skip
"""How the steps share the time of an answer. After its share, a step leaves what it found until then."""
_ELSEWHERE = "other repositories"
"""The last step, which also has the time that others left: a team may have hundreds of repositories."""
_MOST_LINES = 5_000
"""The maximum number of changed lines that an answer repeats."""
_LONGEST_LINE = 400
_MOST_STALE = 200
"""The maximum number of places that still use an old definition. They are not limited like other entries."""
_UNREACHED = 0.7
"""The confidence that no test reaches a definition: frameworks call functions in ways that no name shows."""
_NO_HISTORY = "Without earlier commits of these files, it is not known what usually changes with them."

T = TypeVar("T")


def change(request: Request, params: protocol.ChangeParams) -> protocol.ChangeAnswer:
    """Answer `cairn/change`. Raise InvalidRequestError for an unknown base, for text that is not a diff, and
    for a folder without a repository if there is no diff."""
    return _Answer(request, params).answer()


@define(slots=False)
class _Answer:
    request: Request
    params: protocol.ChangeParams
    started: float = field(factory=time.perf_counter)
    timings: dict[str, float] = field(factory=dict)
    messages: list[str] = field(factory=list)
    complete: bool = True

    def answer(self) -> protocol.ChangeAnswer:
        request, params = self.request, self.params
        folder = changed_folder(request, params)
        reader = request.readers[list(request.folders).index(folder)]
        change = self._timed("change", lambda: read_change(folder, params, self._seconds("change")))
        self.messages += change.problems
        self.complete &= change.complete
        states = States(reader, change.files)
        found = self._collected(change, states)
        elsewhere = OtherRepositories(request, folder, self._seconds(_ELSEWHERE))
        self._in_time(_ELSEWHERE, lambda: _take(elsewhere.dependents(states, found.touched), found.edges))
        if elsewhere.problem:
            self.complete = False
            self.messages.append(elsewhere.problem)
        ordered = in_order(found.edges)
        lists: dict[str, Sequence[object]] = {
            "changed": found.touched,
            "dependents": ordered,
            "unreached": found.unreached,
        }
        most = dict.fromkeys(lists, params.limit)
        most["dependents"] += sum(each.is_stale for each in ordered[:_MOST_STALE])
        show = _Shown(request, folder, elsewhere, most["changed"])
        findings = Findings(
            files=_files(folder, change),
            changed=tuple(show.changed(each) for each in found.touched[: most["changed"]]),
            dependents=tuple(map(show.dependent, ordered[: most["dependents"]])),
            tests=tuple(map(show.concerned, found.tests)),
            commands=tuple(test_commands(reader, found.tests)),
            companions=tuple(map(show.concerned, found.companions[: params.limit])),
            unreached=tuple(map(show.unreached, found.unreached[: most["unreached"]])),
            messages=self.messages,
        )
        count = request.token_counter(request.settings.discovery.render.tokenizer)
        prompt = self._timed("prompt", lambda: review_prompt(findings, params.max_tokens, count))
        self.timings["total"] = milliseconds(self.started)
        return protocol.ChangeAnswer(
            files=tuple(findings.files),
            changed=tuple(findings.changed),
            dependents=tuple(findings.dependents),
            tests=tuple(findings.tests),
            commands=tuple(findings.commands),
            companions=tuple(findings.companions),
            unreached=tuple(findings.unreached),
            prompt=prompt,
            prompt_tokens=count(prompt) if prompt else 0,
            base=change.base,
            complete=self.complete,
            messages=tuple(self.messages),
            left_out={name: left for name in lists if (left := len(lists[name]) - most[name]) > 0},
            index=index_state(elsewhere.shown_in(findings.dependents), findings.dependents),
            timings=self.timings,
        )

    def _collected(self, change: Change, states: States) -> _Collected:
        """Return what the folder itself says about the change."""
        definitions = ChangedDefinitions(states.is_elsewhere)
        self._in_time("definitions", lambda: definitions.add(change.files))
        found = _Collected(definitions.found())
        touched, limit = found.touched, self.params.limit
        self._in_time("dependents", lambda: _take(dependents(states, touched), found.edges))
        if not states.now.tables.complete:
            self.messages.append("Some names are in so many files that not all of them were searched.")
        evidence = Evidence(states.reader, states.now, change, touched, states.uses)
        documents, others = list[Concerned](), list[Concerned]()
        self._in_time("tests", lambda: _take(tests_to_run(evidence, limit), found.tests))
        self._in_time("documents", lambda: _take(documents_with_names(states, touched), documents))
        self._in_time("companions", lambda: _take(companions(evidence, limit), others))
        found.tests = list(filter(self._is_likely, found.tests))
        found.companions = list(filter(self._is_likely, _merged(documents, others)))
        self._in_time("untested definitions", lambda: found.unreached.extend(unreached(evidence, touched)))
        if change.files and not evidence.together:
            self.messages.append(_NO_HISTORY)
        return found

    def _is_likely(self, each: Concerned) -> bool:
        return each.confidence >= self.params.min_confidence

    # --- time -------------------------------------------------------------------------------------------

    def _timed(self, step: str, work: Callable[[], T]) -> T:
        began = time.perf_counter()
        try:
            return work()
        finally:
            self.timings[step] = milliseconds(began)

    def _seconds(self, step: str) -> float:
        """Return how many seconds a step may take."""
        share = _SHARES[step] * self.params.seconds
        if step == _ELSEWHERE:
            return max(share, self.params.seconds - (time.perf_counter() - self.started))
        return share

    def _in_time(self, step: str, work: Callable[[], None]) -> None:
        """Do a step within its time. What it found until then stays."""
        deadline = Deadline(self.request.cancelled, 1000 * self._seconds(step))

        def limited() -> None:
            with ended_by(deadline):
                work()

        try:
            self._timed(step, limited)
        except OutOfTimeError:
            self.complete = False
            self.messages.append(f"There was no time to look at all {step}; these are the first.")


@define
class _Collected:
    """What a change touches in its own folder."""

    touched: list[Touched]
    edges: list[Dependent] = field(factory=list)
    tests: list[Concerned] = field(factory=list)
    companions: list[Concerned] = field(factory=list)
    unreached: list[Touched] = field(factory=list)


def _merged(documents: Sequence[Concerned], others: Sequence[Concerned]) -> list[Concerned]:
    """Return the companions by confidence, each file once; documents that name what changed have priority."""
    by_path: dict[str, Concerned] = {}
    for each in (*sorted(documents, key=lambda each: -each.confidence), *others):
        by_path.setdefault(each.path, each)
    return sorted(by_path.values(), key=lambda each: -each.confidence)


def _take(found: Iterator[T], into: list[T]) -> None:
    for each in found:
        into.append(each)


# --- as the protocol has them ---------------------------------------------------------------------------


def _files(folder: Folder, found: Change) -> tuple[protocol.ChangedFile, ...]:
    room = _MOST_LINES
    files = []
    for file in found.files:
        hunks = []
        for hunk in file.hunks:
            shown = hunk if len(hunk.removed) + len(hunk.added) <= room else None
            room -= len(hunk.removed) + len(hunk.added) if shown else 0
            hunks.append(
                protocol.ChangedLines(
                    before=protocol.whole_lines(hunk.before_start, hunk.before_end),
                    after=protocol.whole_lines(hunk.after_start, hunk.after_end),
                    removed=shown.removed if shown else (),
                    added=shown.added if shown else (),
                )
            )
        files.append(
            protocol.ChangedFile(
                path=file.path,
                uri=folder.uri_of(file.path),
                status=_status(file),
                before_path=file.before_path if file.before_path not in (None, file.path) else None,
                hunks=tuple(hunks),
                problem=file.problem,
            )
        )
    return tuple(files)


def _status(file: FileChange) -> FileStatus:
    if file.is_removed:
        return FileStatus.REMOVED
    if file.before_path is None:
        return FileStatus.ADDED
    return FileStatus.MODIFIED if file.before_path == file.path else FileStatus.RENAMED


@define
class _Shown:
    """Converts findings to the protocol's types."""

    request: Request
    folder: Folder
    elsewhere: OtherRepositories
    most_changed: int
    """How many changed definitions the answer has, to which places may refer."""
    _lines: dict[str, Sequence[str]] = field(factory=dict)

    def changed(self, each: Touched) -> protocol.ChangedDefinition:
        place, before = each.after or each.before, each.before
        from_ = None
        if before is not None and each.after is not None:
            lines = protocol.whole_lines(before.start_line, before.end_line)
            from_ = protocol.ChangedFrom(before.path, before.qualified, lines, each.head_before)
        return protocol.ChangedDefinition(
            path=each.path,
            uri=self.folder.uri_of(each.path),
            folder=self.folder.uri,
            range=protocol.whole_lines(place.start_line, place.end_line) if place else _first_hunk(each),
            symbol=place.qualified if place else "",
            kind=each.kind,
            definition_kind=place.kind if place else "",
            line=each.head_after or each.head_before,
            before=from_,
            hunks=each.hunks,
            reasons=(each.reason,),
            confidence=each.confidence,
        )

    def dependent(self, each: Dependent) -> protocol.ChangePlace:
        edge, folder = each.edge, self.elsewhere.seen.get(each.folder, self.folder)
        return protocol.ChangePlace(
            path=edge.path,
            uri=folder.uri_of(edge.path),
            folder=folder.uri,
            range=protocol.name_range(edge.line, edge.character, edge.name),
            symbol=edge.enclosing.qualified if edge.enclosing else "",
            kind=each.kind,
            reasons=tuple(filter(None, (each.reason, each.evidence))),
            confidence=each.confidence,
            line=self._line(edge.path, edge.line, folder),
            is_stale=each.is_stale,
            about=self._about((each.about,)),
        )

    def concerned(self, each: Concerned) -> protocol.ChangePlace:
        return protocol.ChangePlace(
            path=each.path,
            uri=self.folder.uri_of(each.path),
            folder=self.folder.uri,
            range=protocol.whole_lines(each.line, each.line + 1),
            symbol=each.symbol,
            kind=each.kind,
            reasons=each.reasons,
            confidence=each.confidence,
            line=each.text or self._line(each.path, each.line),
            about=self._about(each.about),
        )

    def unreached(self, each: Touched) -> protocol.ChangePlace:
        shown = self.changed(each)
        return protocol.ChangePlace(
            path=shown.path,
            uri=shown.uri,
            folder=shown.folder,
            range=shown.range,
            symbol=shown.symbol,
            kind=each.kind,
            reasons=("no test calls it, directly or over three calls",),
            confidence=_UNREACHED,
            line=shown.line,
            about=self._about((each.index,)),
        )

    def _about(self, indexes: Iterable[int]) -> tuple[int, ...]:
        return tuple(index for index in indexes if index < self.most_changed)

    def _line(self, path: str, line: int, folder: Folder | None = None) -> str:
        folder = folder or self.folder
        if (uri := folder.uri_of(path)) not in self._lines:
            lines = self.elsewhere.lines(folder.uri, path) or self.request.lines_now(uri)
            self._lines[uri] = lines or ()
        lines = self._lines[uri]
        return lines[line][:_LONGEST_LINE] if line < len(lines) else ""


def _first_hunk(each: Touched) -> protocol.Range:
    hunks = [each.file.hunks[number] for number in each.hunks] or list(each.file.hunks[:1])
    if not hunks:
        return protocol.whole_lines(0, 0)
    if each.file.is_removed:
        return protocol.whole_lines(hunks[0].before_start, hunks[0].before_end)
    return protocol.whole_lines(hunks[0].after_start, hunks[0].after_end)
