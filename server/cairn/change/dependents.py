"""Find what depends on changed definitions, and what still uses definitions that are gone.

References are resolved in two states of the folder, before and after the change. One of them is the folder as
it is; in the other, the changed files have the names of their other text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from attrs import define, evolve, field, frozen

from cairn.change.file_state import file_state
from cairn.change.touched import Touched, line_after
from cairn.chunking.model import content_key
from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.symbol_table import Definition, ReferenceKind
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.edges import CALLS, Edge, Place
from cairn.index.references.graph import ReferenceGraph
from cairn.index.references.known_symbols import OtherText, Symbol
from cairn.index.store.deadline import check_end
from cairn.protocol.change_messages import ChangeKind
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind, file_kind
from cairn.workspace.diff import FileChange

_MOST_EDGES = 400
"""The maximum number of references to each definition."""
_RESOLVED = 0.5
"""The minimum confidence with which a name that was removed meant it, or means something else now. Of changes
that left no use, 1 % had a place that is surer than this, and 9 % had any."""
_LEAST = 0.2
"""References below this confidence are not shown: they mean one of many definitions of the name."""
_MOST_MENTIONING = 150
"""A name in more files is looked up last, and only in time."""

_GONE = frozenset({ChangeKind.REMOVED, ChangeKind.RENAMED, ChangeKind.MOVED})
_OTHERS = frozenset({ChangeKind.SIGNATURE, ChangeKind.BODY, ChangeKind.RENAMED, ChangeKind.MOVED})
_WEIGHTS: Mapping[ChangeKind, float] = {
    ChangeKind.REMOVED: 1.0, ChangeKind.RENAMED: 0.95, ChangeKind.MOVED: 0.9, ChangeKind.SIGNATURE: 0.9,
    ChangeKind.BODY: 0.6,
}  # fmt: skip
_USES: Mapping[ReferenceKind, float] = {
    ReferenceKind.CALL: 1.0, ReferenceKind.DECORATE: 1.0, ReferenceKind.INHERIT: 0.95,
    ReferenceKind.REQUEST: 0.9, ReferenceKind.WRITE: 0.8, ReferenceKind.READ: 0.75, ReferenceKind.IMPORT: 0.5,
}  # fmt: skip
_LONGEST_CALL = 10
"""How many lines of a call are searched for the end of its arguments."""


@frozen
class Dependent:
    """A place in the folder as it is now that depends on a changed definition."""

    edge: Edge
    kind: str
    reason: str
    confidence: float
    is_stale: bool
    score: float
    about: int
    """The index of the changed definition."""
    folder: str = ""
    """The URI of the repository, "" for that with the change."""
    evidence: str = ""
    """How a place in another repository knows the definition."""


@define(eq=False, slots=False)
class States:
    """The folder before a change, after it, and now, which is one of the two for each file.

    Where the index has another text of a changed file, its names are read from the right one. So the answer
    is right even if the index lags behind.
    """

    reader: OverlaidReader
    files: Sequence[FileChange]
    uses: dict[int, list[Edge]] = field(factory=lambda: defaultdict(list), init=False)
    """The references to each changed definition in the folder as it is, by the definition's index."""
    by_before: dict[str, FileChange] = field(init=False)
    by_after: dict[str, FileChange] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.by_before = {file.before_path: file for file in self.files if file.before_path}
        self.by_after = {file.path: file for file in self.files if not file.is_removed}

    @cached_property
    def now(self) -> ReferenceGraph:
        return self._graph(lambda file: file.is_applied)

    @cached_property
    def before(self) -> ReferenceGraph:
        return self._graph(lambda _: False)

    @cached_property
    def after(self) -> ReferenceGraph:
        return self._graph(lambda _: True)

    def _graph(self, is_after: Callable[[FileChange], bool]) -> ReferenceGraph:
        """Return the references in the state that each file has."""
        texts: dict[str, str | None] = {}
        for file in self._compared:
            texts |= dict.fromkeys(filter(None, (file.path, file.before_path)))
        for file in self._compared:
            if is_after(file) and not file.is_removed:
                texts[file.path] = file.after
            elif not is_after(file) and file.before_path:
                texts[file.before_path] = file.before
        others = {
            path: _names(path, text)
            for path, text in texts.items()
            if self._indexed.get(path) != (None if text is None else content_key(text))
        }
        key = tuple((path, texts[path]) for path in sorted(others))
        if key not in self._graphs:
            self._graphs[key] = ReferenceGraph(self.reader, others=others)
        return self._graphs[key]

    @cached_property
    def _compared(self) -> list[FileChange]:
        return [file for file in self.files if not file.problem]

    @cached_property
    def _indexed(self) -> dict[str, str]:
        """The content hashes of the changed files in the index, "" where other text replaces a file."""
        paths = {path for file in self._compared for path in (file.path, file.before_path) if path}
        found = {path: content_hash for path, (content_hash, _) in self.reader.contents(paths).items()}
        return found | dict.fromkeys(paths.intersection(self.reader.hidden), "")

    @cached_property
    def _graphs(self) -> dict[tuple[tuple[str, str | None], ...], ReferenceGraph]:
        """The graphs by the texts that differ from the index."""
        return {}

    def is_elsewhere(self, place: Place) -> bool:
        """Whether files that the change does not touch define the same qualified name."""
        return any(
            each.qualified == place.qualified
            and each.path not in self.by_before
            and each.path not in self.by_after
            for each in self.now.named(place.qualified)
        )


def _names(path: str, text: str | None) -> OtherText | None:
    state = file_state(path, text) if text else None
    return state.names if state is not None else None


def dependents(states: States, touched: Sequence[Touched]) -> Iterator[Dependent]:
    """Yield what depends on each changed definition, those of the most telling changes first. It takes long
    for common names, so take what there is in time."""
    wanted = [each for each in touched if each.kind in _OTHERS | _GONE]
    states.uses.update({each.index: [] for each in wanted})
    counts = {each.index: states.now.tables.count_mentioning(each.name) for each in wanted if each.name}
    wanted.sort(key=lambda each: counts.get(each.index, 0) > _MOST_MENTIONING)
    for each in wanted:
        check_end()
        if each.kind in _GONE:
            yield from _stale(states, each)
        if each.kind in _OTHERS and each.place is not None:
            yield from _of_kept(states, each, each.place)


def in_order(found: Iterable[Dependent]) -> list[Dependent]:
    """Return the dependents best first, each line once: those that still use an old definition, then those of
    the most telling changes, and those in tests last."""
    best: dict[tuple[str, str, int], Dependent] = {}
    for each in found:
        key = each.folder, each.edge.path, each.edge.line
        known = best.get(key)
        if known is None or (known.is_stale, known.score) < (each.is_stale, each.score):
            best[key] = each
    return sorted(
        best.values(),
        key=lambda each: (
            not each.is_stale,
            -round(each.score, 2),
            each.folder,
            each.edge.path,
            each.edge.line,
        ),
    )


# --- definitions that are still there -------------------------------------------------------------------


def _of_kept(states: States, touched: Touched, place: Place) -> Iterator[Dependent]:
    graph = states.now
    is_near = touched.kind is ChangeKind.BODY  # A new body breaks no use, so the likely ones are enough.
    edges = list(graph.uses([place], _MOST_EDGES, is_near=is_near).found)
    if any(each.enclosing is not None and each.enclosing.kind == "macro" for each in edges):
        seen = {(each.path, each.line, each.character) for each in edges}
        through = graph.callers([place], _MOST_EDGES).found
        edges += [each for each in through if (each.path, each.line, each.character) not in seen]
    symbol = graph.symbol(place)
    is_constructor = symbol is not None and symbol.is_constructor
    for each in edges:
        is_call = each.kind in CALLS and place.kind in CALLABLE
        if each.confidence < _LEAST or _is_own(each, place) or (is_constructor and not is_call):
            continue
        states.uses[touched.index].append(each)
        is_same = _is_unchanged(states, each)
        is_stale = is_call and is_same and _is_resigned(touched) and not fits(states.reader, touched, each)
        yield dependent_on(touched, each, is_stale=is_stale, is_changed=not is_same)
    is_overridden = place.kind in CALLABLE and not is_near
    for each in graph.implementations([place], _MOST_EDGES).found if is_overridden else ():
        if each.confidence >= _LEAST:
            is_same = _is_unchanged(states, each)
            is_stale = _is_resigned(touched) and is_same
            yield dependent_on(touched, each, "override", is_stale=is_stale, is_changed=not is_same)


def _is_resigned(touched: Touched) -> bool:
    return touched.kind is ChangeKind.SIGNATURE


def fits(reader: IndexReader, touched: Touched, call: Edge) -> bool:
    """Whether a call is right with the new signature as well."""
    difference = touched.difference
    if difference is None or difference.old is None:
        return False
    last = call.line + _LONGEST_CALL
    lines: dict[int, str] = {}
    for stored in reader.between(call.path, call.line, last):
        lines.update(enumerate(lines_of(stored.chunk.text), stored.chunk.start_line))
    shown = [lines.get(number, "") for number in range(call.line, last)]
    shown[0] = shown[0][call.character + len(call.name) :]
    return difference.fits("\n".join(shown).lstrip())


def _is_own(edge: Edge, place: Place) -> bool:
    """Whether a reference is inside the definition to which it refers."""
    return edge.path == place.path and place.start_line <= edge.line < place.end_line


def _is_unchanged(states: States, edge: Edge) -> bool:
    """Whether the change leaves the lines of a reference as they are, up to the end of a call."""
    file = states.by_after.get(edge.path) or states.by_before.get(edge.path)
    if file is None:
        return True
    last = edge.line + _lines_of_call(file, edge)
    for hunk in file.hunks:
        first, end = (
            (hunk.after_start, hunk.after_end) if file.is_applied else (hunk.before_start, hunk.before_end)
        )
        if first <= last and max(end, first + 1) > edge.line and (end > first or first > edge.line):
            return False
    return True


def _lines_of_call(file: FileChange, edge: Edge) -> int:
    """Return how many lines after the first one a call has."""
    text = file.after if file.is_applied else file.before
    if text is None:
        return 0
    depth = 0
    for number, line in enumerate(_lines(text)[edge.line : edge.line + _LONGEST_CALL]):
        shown = line[edge.character :] if not number else line
        depth += shown.count("(") - shown.count(")")
        if depth <= 0:
            return number
    return 0


@lru_cache(maxsize=64)
def _lines(text: str) -> Sequence[str]:
    return lines_of(text)


# --- definitions that are gone --------------------------------------------------------------------------


def _stale(states: States, touched: Touched) -> Iterator[Dependent]:
    """Yield the references to a definition as it was before the change that no longer mean anything."""
    graph = states.before
    places = [*([touched.before] if touched.before else []), *touched.members]
    for place in places:
        definition = _definition(graph, place)
        for edge in graph.uses([place], _MOST_EDGES).found:
            check_end()
            file = states.by_before.get(edge.path)
            is_inside = any(_is_own(edge, each) for each in places)
            if edge.confidence < _LEAST or (is_inside and touched.kind is not ChangeKind.MOVED):
                continue
            after_line = edge.line if file is None else line_after(file, edge.line)
            if after_line is None or (file is not None and file.is_removed):
                continue
            path = edge.path if file is None else file.path
            meant = _meanings(states.after, path, after_line, edge, definition)
            if (meant is not None and meant >= _RESOLVED) or _is_imported_anew(states, edge, path):
                continue
            shown = _as_now(states, edge, file, after_line)
            if shown is not None:
                states.uses[touched.index].append(shown)
                yield dependent_on(touched, shown, is_stale=shown.confidence >= _RESOLVED)


def _is_imported_anew(states: States, edge: Edge, path: str) -> bool:
    """Whether the change lets the file import the name from elsewhere, perhaps from outside the workspace."""
    tables = states.before.tables.table(edge.path), states.after.tables.table(path)
    before, after = ({each for each in table.imports if each.module} if table else set() for table in tables)
    return any(each.name == edge.name for each in after - before)


def _definition(graph: ReferenceGraph, place: Place) -> Definition | None:
    """Return the definition at a place; None if it is a declaration of one, such as a prototype."""
    symbol = graph.symbol(place)
    return symbol.definition if symbol is not None and not symbol.definition.is_declaration else None


def _meanings(
    graph: ReferenceGraph, path: str, line: int, edge: Edge, gone: Definition | None
) -> float | None:
    """Return the confidence of what the reference means in another state; None if it is not there. `gone` is
    the definition that it meant."""
    file = graph.tables.top(path)
    if file is None:
        return None
    for each in file.table.references_on(line, line + 1):
        if (each.name, each.character) == (edge.name, edge.character):
            meanings = graph.resolver.resolve(file, each)
            kept = (one for one in meanings if gone is None or not _is_prototype_of(graph, one.symbol, gone))
            return max((meaning.confidence for meaning in kept), default=0.0)
    return None


def _is_prototype_of(graph: ReferenceGraph, symbol: Symbol, gone: Definition) -> bool:
    """Whether a symbol only declares what is gone, and nothing defines it now."""
    name = gone.name, gone.owner
    if not symbol.definition.is_declaration or (symbol.name, symbol.definition.owner) != name:
        return False
    every = graph.tables.definitions_in(symbol.table.language, gone.name)
    return all(each.definition.is_declaration for each in every if each.definition.owner == gone.owner)


def _as_now(states: States, edge: Edge, file: FileChange | None, after_line: int) -> Edge | None:
    """Return a reference of the state before at its place in the folder as it is now."""
    if file is None or not file.is_applied:
        return edge
    around = states.now.around(file.path, after_line)
    return evolve(edge, path=file.path, line=after_line, enclosing=around)


# --- as dependents --------------------------------------------------------------------------------------


def dependent_on(
    touched: Touched, edge: Edge, kind: str = "", *, is_stale: bool, is_changed: bool = False
) -> Dependent:
    """Return a reference as a dependent. `kind` is that of the protocol if the reference's is another one."""
    weight = _WEIGHTS[touched.kind] * _USES.get(edge.kind, 0.5) * edge.confidence
    if file_kind(edge.path) == FileKind.TESTS:
        weight *= 0.5
    if is_changed:
        weight *= 0.5
    return Dependent(
        edge=edge,
        kind=kind or edge.kind.label,
        reason=_reason(touched, edge, kind, is_stale, is_changed),
        confidence=round(edge.confidence, 2),
        is_stale=is_stale,
        score=weight,
        about=touched.index,
    )


_VERBS: Mapping[str, str] = {
    "call": "calls", "import": "imports", "inherit": "extends", "read": "uses", "write": "sets",
    "request": "requests", "override": "overrides",
}  # fmt: skip


def _reason(touched: Touched, edge: Edge, kind: str, is_stale: bool, is_changed: bool) -> str:
    verb = _VERBS.get(kind or edge.kind.label, "uses")
    before, after = touched.before, touched.after
    old = edge.target.name if edge.target is not None else edge.name
    if not is_stale:
        shown = after or before
        return f"{verb} `{shown.qualified if shown else old}`{', and is changed, too' if is_changed else ''}"
    if touched.kind is ChangeKind.SIGNATURE:
        return f"{verb} `{before.qualified if before else old}` as before, but {touched.reason}"
    if touched.kind is ChangeKind.REMOVED:
        return f"still {verb} `{old}`, which was removed"
    if touched.kind is ChangeKind.RENAMED and after is not None:
        return f"still {verb} `{old}`, now `{after.name}`"
    return f"still {verb} `{old}` from where it was"
