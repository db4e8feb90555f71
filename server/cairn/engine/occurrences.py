"""Lists every line that contains a text or matches an expression, for `cairn/search` with `exact`.

The index proposes the chunks that may have such a line, and the lines of their texts are matched. If the text
of a file on disk is not the indexed one, the file is read from disk. The answer says whether lines may be
missing, because callers edit all of them, or rely on there being none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, groupby, islice
from operator import attrgetter

from attrs import define, evolve, field, frozen

from cairn import protocol
from cairn.chunking.chunker import chunk_text
from cairn.chunking.model import Chunk
from cairn.engine.completeness import changed_since_indexed
from cairn.engine.file_outline import HEADING, innermost, outline_of_text, qualified_in
from cairn.engine.folders import Folder
from cairn.engine.line_matcher import LineMatcher, Spans, expression_matcher, text_matcher
from cairn.engine.request import Request
from cairn.errors import OutOfTimeError
from cairn.index.indexing.folder_state import needs_rescan
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.file_queries import left_out_counts, text_files
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.records import Outline
from cairn.index.store.deadline import Deadline, check_end, ended_by, query_end
from cairn.retrieval.evidence_lines import is_comment
from cairn.text.counts import counted
from cairn.text.unicode import utf16_length
from cairn.workspace.collections import TEST_MODULES, FileKind, file_kind, is_beside
from cairn.workspace.ignore_patterns import Selection

_LONGEST_MS = 7_000.0
"""The time limit in milliseconds of processor time. Within it, 200,000 chunks can be searched one by one."""
_MOST_COMPARED = 20_000
"""The maximum number of files that are compared with the disk, in 5 µs each. In larger folders, only the
files with occurrences are, and the indexer's watcher reports the others."""
_MOST_READ = 200
"""The maximum number of changed files that one search reads from disk. A file takes about 1 ms."""
_MOST_FILES = 10_000
_TOO_LONG = "The search was ended after 7 s of work. Give a path, or a longer text, to search less."
_LONGEST_LINE, _BEFORE = 200, 40
"""The maximum number of characters of a listed line, and the number before the first match in a cut line."""
_KINDS = (FileKind.SOURCE, FileKind.CONFIG, FileKind.EXAMPLES, FileKind.TESTS, FileKind.DOCS)
"""The order of files."""


def matcher_of(params: protocol.SearchParams) -> LineMatcher:
    """Return the matcher of an exact search. Raise InvalidRequestError for a query that no line can match."""
    make = expression_matcher if params.regex else text_matcher
    return make(params.query, ignore_case=params.ignore_case, whole_word=params.whole_word)


def occurrences(
    request: Request, params: protocol.SearchParams, only: ChunkFilter, matcher: LineMatcher
) -> protocol.Occurrences:
    """Return the lines of all folders that pass `only`. At most `params.limit` of them are listed."""
    name, deadline = "" if params.regex else params.query, Deadline(query_end(), _LONGEST_MS)
    searches = [
        _FolderSearch(folder, reader, only, matcher, name)
        for folder, reader in zip(request.folders, request.readers, strict=True)
    ]
    for search in searches:
        search.run(deadline)
    files = sorted((file for search in searches for file in search.files), key=_FoundFile.order)
    left_out = sum((Counter(left_out_counts(search.reader.saved)) for search in searches), Counter[str]())
    reasons = dict.fromkeys(reason for search in searches for reason in search.reasons)
    is_counted = matcher.has_other_case is not None
    return protocol.Occurrences(
        lines=sum(file.count for file in files),
        files=len(files),
        found=_as_listed(files[:_MOST_FILES], params.limit),
        other_case=sum(search.other_case for search in searches) if is_counted else None,
        searched=sum(search.searched for search in searches),
        complete=not reasons,
        reason=" ".join(reasons),
        not_searched=dict(left_out.most_common()),
    )


@frozen
class _Line:
    line: int
    text: str
    spans: Spans
    symbol: str
    kind: str


@define(eq=False)
class _FoundFile:
    search: _FolderSearch
    path: str
    kind: str
    count: int
    """The number of lines that match."""
    is_definition: bool
    """Whether the file defines the text as a name."""
    chunks: Sequence[int] = ()
    """The ids of the indexed chunks with these lines, in order."""
    read: Sequence[Chunk] = ()
    """The chunks of the file's text on disk, if that was searched instead."""
    text: str = ""
    """This text."""

    def order(self) -> tuple[bool, int, str, str]:
        rank = _KINDS.index(FileKind(self.kind)) if self.kind in _KINDS else len(_KINDS)
        return (not self.is_definition, rank, self.path, self.search.folder.uri)


@define(eq=False)
class _FolderSearch:
    folder: Folder
    reader: OverlaidReader
    only: ChunkFilter
    matcher: LineMatcher
    name: str
    """The text, which may be a name; "" for an expression."""
    files: list[_FoundFile] = field(factory=list, init=False)
    other_case: int = field(default=0, init=False)
    searched: int = field(default=0, init=False)
    """The number of files that were searched."""
    reasons: list[str] = field(factory=list, init=False)
    """Why occurrences may be missing, as sentences."""

    def run(self, deadline: Deadline) -> None:
        paths = text_files(self.reader, self.only)
        self._note_unknown_changes()
        texts = self._read(self._changed(paths))
        self.searched = len(set(paths) - texts.keys()) + sum(text is not None for text in texts.values())
        counts = self._counts(texts, deadline)
        self.files = self._by_file(counts)
        # In a large folder, only now it is known which files to compare with the disk.
        late = () if self._compares_all(paths) else self._outdated(file.path for file in self.files)
        if late_texts := self._read([path for path in late if path not in texts]):
            self.files = [file for file in self.files if file.path not in late_texts]
            texts |= late_texts
        for path, text in texts.items():
            if text is not None:
                self._search_text(path, text)

    # --- the index ----------------------------------------------------------------------------------

    def _counts(self, hidden: Iterable[str], deadline: Deadline) -> dict[int, int]:
        """Return the number of matching lines of each chunk that has any. Files in `hidden` are left out."""
        counts: dict[int, int] = {}
        only = evolve(self.only, hidden=tuple(hidden))
        try:
            with ended_by(deadline):
                ids = self.reader.proposed(self.matcher.literals, only).tolist()
                for chunk_id, _, text in self.reader.chunk_texts(ids):
                    check_end()  # An expression may take long for each line.
                    same, other = self.matcher.count(text)
                    self.other_case += other
                    if same:
                        counts[chunk_id] = same
        except OutOfTimeError as problem:
            self.reasons.append(_TOO_LONG if deadline.is_over else str(problem))
        return counts

    def _by_file(self, counts: Mapping[int, int]) -> list[_FoundFile]:
        chunks = defaultdict[str, list[Outline]](list)
        for outline in self.reader.outlines(counts).values():
            chunks[outline.path].append(outline)
        return [
            _FoundFile(
                self,
                path,
                of_file[0].kind,
                sum(counts[each.id] for each in of_file),
                any(self._is_defined_in(each) for each in of_file),
                [each.id for each in sorted(of_file, key=attrgetter("position"))],
            )
            for path, of_file in chunks.items()
        ]

    def _is_defined_in(self, outline: Outline) -> bool:
        # Decoding the names is slow, and few chunks have the name among them.
        return bool(self.name) and self.name in outline.names and self.name in outline.defines

    # --- the disk -----------------------------------------------------------------------------------

    def _compares_all(self, paths: Sequence[str]) -> bool:
        return len(paths) <= _MOST_COMPARED

    def _outdated(self, paths: Iterable[str]) -> list[str]:
        """Return the files whose text on disk is not the indexed one, and let them be indexed."""
        if self.folder.revision is not None:
            return []
        changed = changed_since_indexed(self.folder, paths)
        self.folder.queue_changes(changed)
        return changed

    def _changed(self, paths: Sequence[str]) -> list[str]:
        """Return the files that must be read from disk, new ones included."""
        changed = set(self._outdated(paths) if self._compares_all(paths) else ())
        indexer, unsaved = self.folder.indexer, frozenset(self.reader.hidden)
        unread = frozenset[str]() if indexer is None else indexer.unread
        if needs_rescan(unread):
            self.reasons.append(f"The rules of {self.folder.label} have changed, and it is read again now.")
        patterns = self.only.paths_in(self.reader.root)
        known = self.reader.contents(unread)
        for path in sorted(unread - unsaved - changed):
            if (self.folder.root / path).is_dir():
                self.reasons.append(f"{path} has changed, and its files are being read.")
            elif patterns is None or Selection(patterns).names(path):
                # The collection of a new file is not known yet.
                if self.only.collections and known.get(path, ("", ""))[1] not in self.only.collections:
                    continue
                changed.add(path)
        return sorted(changed)

    def _read(self, paths: Sequence[str]) -> dict[str, str | None]:
        """Return the texts of files on disk, None for a file that is gone or that a rule leaves out."""
        if len(paths) > _MOST_READ:
            left = counted(len(paths) - _MOST_READ, "changed file")
            self.reasons.append(f"{left} in {self.folder.label} are being read, and were not searched.")
        return {path: self.folder.text_of(path) for path in paths[:_MOST_READ]}

    def _note_unknown_changes(self) -> None:
        facts, indexer, label = self.folder.reader.facts(), self.folder.indexer, self.folder.label
        if not facts.scanned:
            self.reasons.append(f"Not all files of {label} have been read yet.")
        elif indexer is None or self.folder.revision is not None:
            return  # The index of a team's commit has all of its files.
        elif indexer.may_lack_changes or indexer.is_behind(facts):
            self.reasons.append(f"{label} is being compared with its index, which may lack changes.")

    def _search_text(self, path: str, text: str) -> None:
        try:
            chunks = [chunk for chunk in _chunks(path, text, self.matcher) if self._passes(chunk)]
            counts = [self.matcher.count(chunk.text) for chunk in chunks]
        except OutOfTimeError as problem:
            self.reasons.append(str(problem))
            return
        self.other_case += sum(other for _, other in counts)
        if lines := sum(same for same, _ in counts):
            is_definition = any(self.name in chunk.defines for chunk in chunks)
            file = _FoundFile(self, path, file_kind(path), lines, is_definition, read=chunks, text=text)
            self.files.append(file)

    def _passes(self, chunk: Chunk) -> bool:
        types, languages = self.only.types, self.only.languages
        return (not types or chunk.type.value in types) and (not languages or chunk.language in languages)

    # --- the listed lines ---------------------------------------------------------------------------

    def lines(self, files: Sequence[_FoundFile], most: int) -> dict[_FoundFile, list[_Line]]:
        """Return up to `most` matching lines of each of these files of the folder, in order."""
        ids = [chunk for file in files for chunk in file.chunks]
        texts = {chunk: (start, text) for chunk, start, text in self.reader.chunk_texts(ids)}
        in_index = _definitions_in(self.reader, {file.path: file.chunks for file in files})
        found = dict[_FoundFile, list[_Line]]()
        for file in files:
            pieces = [(chunk, *texts[chunk]) for chunk in file.chunks if chunk in texts]
            pieces += [(0, chunk.start_line, chunk.text) for chunk in file.read]
            definition_at = _definitions_of_text(file.path, file.text) if file.read else in_index
            lines = (
                _Line(start + number, line, spans, *definition_at(file.path, chunk, start + number))
                for chunk, start, text in pieces
                for number, line, spans in self.matcher.matching(text)
            )
            found[file] = list(islice(lines, most))
        return found


def _chunks(path: str, text: str, matcher: LineMatcher) -> list[Chunk]:
    """Return the chunks of a text, or none if no line of it can match. A notebook is searched as decoded."""
    return chunk_text(path, text) if path.endswith(".ipynb") or matcher.is_possible(text) else []


DefinitionAt = Callable[[str, int, int], tuple[str, str]]
"""Returns the qualified name and the kind of the innermost definition around a line, given the path, the
chunk and the line; "" and "" if there is none."""


def _definitions_in(reader: OverlaidReader, files: Mapping[str, Sequence[int]]) -> DefinitionAt:
    """Return a function for lines of these files, given with their chunks."""
    id_of = {path: number for number, path in reader.symbols_at(list(files))}
    tables = reader.symbol_tables(list(id_of.values()))
    # Documents, and code in some languages, have no symbol table.
    others = [chunk for path, chunks in files.items() if path not in id_of for chunk in chunks]
    stored = reader.chunks(others)

    def definition_at(path: str, chunk_id: int, line: int) -> tuple[str, str]:
        if (table := tables.get(id_of.get(path, 0))) is not None:
            around = table.around(line)
            return (qualified_in(table, around[-1]), table.kind(around[-1])) if around else ("", "")
        if chunk_id not in stored:
            return "", ""
        chunk = stored[chunk_id].chunk
        if chunk.symbol:
            name = f"{chunk.parent}.{chunk.symbol}" if chunk.parent else chunk.symbol
            return name, chunk.symbol_kind
        heading = chunk.header_path.rpartition(" > ")[2]
        return heading, HEADING if heading else ""

    return definition_at


def _definitions_of_text(path: str, text: str) -> DefinitionAt:
    outline = outline_of_text(path, text)

    def definition_at(_path: str, _chunk: int, line: int) -> tuple[str, str]:
        entry = innermost(outline, line)
        return (entry.qualified, entry.kind) if entry is not None else ("", "")

    return definition_at


def _as_listed(files: Sequence[_FoundFile], limit: int) -> tuple[protocol.FileOccurrences, ...]:
    """Return the files, the first of them with up to `limit` lines in all."""
    before = accumulate((file.count for file in files), initial=0)
    begun = [file for file, lines in zip(files, before, strict=False) if lines < limit]
    lines = dict[_FoundFile, list[_Line]]()
    for search in {id(file.search): file.search for file in begun}.values():
        lines |= search.lines([file for file in begun if file.search is search], limit)
    left, listed = limit, []
    for file in files:
        shown = lines.get(file, [])[: max(0, left)]
        left -= file.count
        groups = groupby(shown, key=lambda line: (line.symbol, line.kind))
        folder = file.search.folder
        listed.append(
            protocol.FileOccurrences(
                path=file.path,
                folder=folder.uri,
                uri=folder.uri_of(file.path),
                count=file.count,
                definitions=tuple(
                    protocol.DefinitionOccurrences(symbol, kind, tuple(map(_matched, of_definition)))
                    for (symbol, kind), of_definition in groups
                ),
            )
        )
    return tuple(listed)


def is_of_program(path: str, symbol: str, line: str) -> bool:
    """Return whether a line in the definition `symbol` is of the program, rather than a comment or a line of
    tests, examples or documents."""
    is_test = symbol.partition(".")[0] in TEST_MODULES
    return not (is_test or is_beside(path) or is_comment(line))


def _matched(line: _Line) -> protocol.MatchedLine:
    """Return the line without its indentation, a long one cut around its first match."""
    text = line.text.strip()
    start = len(line.text) - len(line.text.lstrip())
    first = max(0, line.spans[0][0] - start)
    cut, prefix = 0, ""
    if len(text) > _LONGEST_LINE and first > _BEFORE:
        cut, prefix = first - _BEFORE, "…"
    shown = text[cut : cut + _LONGEST_LINE]
    if cut + _LONGEST_LINE < len(text):
        shown += "…"
    begin, end = start + cut, start + min(cut + _LONGEST_LINE, len(text))
    marks = []
    for first, last in line.spans:
        first, last = max(first, begin), min(last, end)
        if first < last:
            place = utf16_length(prefix + line.text[begin:first])
            marks.append(protocol.Mark(place, place + utf16_length(line.text[first:last])))
    return protocol.MatchedLine(line.line, prefix + shown, tuple(marks))
