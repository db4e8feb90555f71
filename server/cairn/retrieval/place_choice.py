"""Choose among the candidates of `place_ranking` the rows of a search, and the lines that each row shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from cairn.chunking.markup import headings_of
from cairn.chunking.model import Chunk
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import StoredChunk
from cairn.languages.registry import CONFIG_LANGUAGES
from cairn.retrieval.place_ranking import Candidate, Candidates, with_short_lead
from cairn.retrieval.places import TOP, Place, outlines_of_folders
from cairn.retrieval.query_words import QueryWords
from cairn.retrieval.ranking import Ranking
from cairn.retrieval.scores import Ranked
from cairn.retrieval.windows import Passage
from cairn.text.verbatim import lines_of, lines_with_ends

_PER_FILE = 2
"""The maximum number of places of one file for a few words."""
_NEAR = 5
"""Two places of a file that begin within this many lines are one for a reader, as a class and its
constructor."""
_FILE = 4.0
"""The further weight of a file's score if no name decides. Without it, the NDCG@10 of short questions about
files was 0.02 lower; with 8, the first row was right for 0.02 fewer queries."""
_ALWAYS = 2
"""The number of rows that are always shown."""
_CERTAIN, _OF_CERTAIN = 13.5, 0.6
"""The score of a place that surely is meant, such as a name of all the words, and the least share of this
score that the rows below it must have. Of 37 such first rows, a judge found 36 right."""
_LEAST_WINDOW = 0.7
"""The least score of a place's best window, as a share of the best window of all, if no place is certain.
With these four, a judge wanted 0.73 of the rows that are left, and 0.53 of all. Of 80 right rows, 4 are left
out (98 queries)."""


@frozen
class Shown:
    """A row of a search: a place, and the lines `[first, last)` that are shown of it."""

    ranked: Ranked
    """The chunk that has the lines, with the title and name of the place, and the score of the row."""
    place: Place
    first: int
    last: int
    head: str = ""
    """The line that names the place, if it is above `first`."""

    @property
    def line(self) -> int | None:
        """The line that names the place; None if no line does."""
        return self.place.line

    @property
    def text(self) -> str:
        chunk = self.ranked.stored.chunk
        if (self.first, self.last) == (chunk.start_line, chunk.end_line):
            return chunk.text
        lines = lines_with_ends(chunk.text)
        return "".join(lines[self.first - chunk.start_line : self.last - chunk.start_line])


@frozen
class Choice:
    rows: Sequence[Shown]
    left_out: Sequence[tuple[str, int]] = ()
    """The words that alone are in places which were left out, each with the number of these places."""


def choose(
    words: QueryWords,
    ranking: Ranking,
    found: Sequence[Ranked],
    passages: Sequence[Passage],
    limit: int,
    best_only: bool,
) -> Choice:
    """Return up to `limit` rows. `found` are the results best first, and `passages` the windows of their
    files. For a question, each result becomes the best place in its chunk. A few words get the best places of
    all files; with `best_only`, without those that are far worse than the first."""
    candidates = Candidates.of(words, ranking, found, passages)
    if not words.query.is_short:
        best: dict[object, Candidate] = {}
        for result, each in zip(found, map(candidates.best_in, found), strict=True):
            # Several chunks of a long definition are one place, but chunks outside of definitions are not.
            best.setdefault(
                (each.file, each.place if each.place.line is not None else result.stored.id), each
            )
        return Choice(_rows(ranking.readers, _scored(_definitions_first(list(best.values())))[:limit]))
    every = _definitions_first(_by_file(_distinct(candidates.every())))[: 2 * limit]
    if not best_only:
        return Choice(_rows(ranking.readers, _scored(every)[:limit]))
    kept, left_out = _without_filler(words, every)
    return Choice(_rows(ranking.readers, _scored(kept)[:limit]), left_out)


def _by_file(every: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, which are best first: those that surely are meant, then the best of each other
    file, then all others. Without a name that decides, the file's own score weighs more."""
    certain = [each for each in every if each.score >= _CERTAIN]
    files = {each.file for each in certain}
    firsts: list[Candidate] = []
    others: list[Candidate] = []
    for each in every[len(certain) :]:
        (others if each.file in files else firsts).append(each)
        files.add(each.file)
    firsts.sort(key=lambda each: -each.score - _FILE * each.share_of_file)
    return certain + firsts + others


def _scored(chosen: Sequence[Candidate]) -> list[tuple[Candidate, Ranked]]:
    """Return the candidates with the scores of their results, highest first."""
    scores = sorted((each.ranked.score for each in chosen), reverse=True)
    return [(each, each.ranked.with_score(score)) for each, score in zip(chosen, scores, strict=True)]


def _definitions_first(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, each definition before the declarations of its name, such as prototypes."""
    declared: dict[str, int] = {}
    ordered: list[Candidate] = []
    for each in chosen:
        name = each.place.name
        if each.place.is_declaration:
            declared.setdefault(name, len(ordered))
        elif name in declared:
            at = declared.pop(name)
            declared = {other: place + (place >= at) for other, place in declared.items()}
            ordered.insert(at, each)
            continue
        ordered.append(each)
    return ordered


def _distinct(every: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates without a place beside a better one, and at most `_PER_FILE` of a file."""
    of_file: defaultdict[tuple[int, str], list[Candidate]] = defaultdict(list)
    chosen: list[Candidate] = []
    for each in every:
        others = of_file[each.file]
        if any(_is_same(each.place, other.place) for other in others):
            continue
        is_beside = any(abs(each.place.start - other.place.start) <= _NEAR for other in others)
        if len(others) < _PER_FILE and not (is_beside and not each.is_whole):
            others.append(each)
            chosen.append(each)
    return chosen


def _is_same(one: Place, other: Place) -> bool:
    """Return whether both are parts of one section, of which the heading is in one or in none."""
    return one.name == other.name and None in (one.line, other.line)


def _without_filler(
    words: QueryWords, best: Sequence[Candidate]
) -> tuple[list[Candidate], list[tuple[str, int]]]:
    """Return the candidates without those that are far worse than the first, and the words that alone are in
    these, each with the number of such places."""
    if not best or len(words.query.terms) < 2:
        return list(best), []
    highest, covered = best[0].score, max(each.covered for each in best[:3])

    def is_worth_it(each: Candidate) -> bool:
        if highest >= _CERTAIN:
            return each.score >= _OF_CERTAIN * highest
        return each.covered >= covered and each.window >= _LEAST_WINDOW

    worth = [number < _ALWAYS or is_worth_it(each) for number, each in enumerate(best)]
    kept = [each for each, is_worth in zip(best, worth, strict=True) if is_worth]
    alone = Counter(
        words.query.terms[next(iter(each.terms))]
        for each, is_worth in zip(best, worth, strict=True)
        if not is_worth and len(each.terms) == 1
    )
    return kept, alone.most_common()


def _rows(readers: Sequence[IndexReader], chosen: Sequence[tuple[Candidate, Ranked]]) -> list[Shown]:
    rows = []
    for candidate, ranked in chosen:
        reader, place = readers[ranked.folder], candidate.place
        path, line = ranked.stored.path, place.line
        stored = candidate.seen.chunk
        named_in = None
        if line is None and stored is not None and not place.is_definition:
            place = _with_heading(reader, stored, place)
        elif line is not None and (stored is None or candidate.is_whole or not _has(stored, line)):
            named_in = next(iter(reader.between(path, line, line + 1)), None)
        if stored is None or (candidate.is_whole and named_in is not None):
            stored = named_in or ranked.stored
        rows.append(shown(ranked, stored, place, named_in))
    return rows


def _with_heading(reader: IndexReader, stored: StoredChunk, place: Place) -> Place:
    """Return the section with the line of its heading, which is above the chunk, if there is one."""
    chunk = stored.chunk
    if not chunk.header_path:
        return place
    above = [each for each in reader.between(stored.path, 0, chunk.start_line) if each.id != stored.id]
    for other in reversed(above):
        for heading in reversed(headings_of(chunk.language, other.chunk.text)):
            if heading.title == place.name:
                return evolve(place, line=other.chunk.start_line + heading.start)
    return place


def whole_chunks(readers: Sequence[IndexReader], every: Sequence[Ranked]) -> list[Shown]:
    """Return a row for each result that shows all of its chunk, under the name of the definition around the
    lines that it selects, or else of the chunk's main definition."""
    known = outlines_of_folders(readers, ((each.folder, each.stored) for each in every))
    rows = []
    for each in every:
        chunk, outline = each.stored.chunk, known[each.folder, each.stored.path]
        line = chunk.start_line if each.lines is None else each.lines[0]
        number = outline.owners_of(line, line + 1)[0]
        place = Place(chunk.title, end=0) if number == TOP else outline.places[number]
        if each.lines is None:
            place = outline.place_in(chunk, chunk.symbol) or place
        row = shown(each, each.stored, place)
        rows.append(evolve(row, first=chunk.start_line, last=chunk.end_line))
    return rows


def shown(ranked: Ranked, stored: StoredChunk, place: Place, named_in: StoredChunk | None = None) -> Shown:
    """Return the row for a place of which the chunk `stored` has lines. `named_in` is the chunk that has the
    line with the name, if it is another one."""
    chunk = stored.chunk
    first, last = max(chunk.start_line, place.start), min(chunk.end_line, place.end)
    if first >= last:  # the file as a whole, or an outline of a later version of the text
        first, last = chunk.start_line, chunk.end_line
    else:
        first = chunk.start_line + with_short_lead(lines_of(chunk.text), first - chunk.start_line)
    head = ""
    line = place.line
    if line is not None and line < first and named_in is not None and _has(named_in, line):
        head = lines_of(named_in.chunk.text)[line - named_in.chunk.start_line]
    return Shown(
        evolve(ranked, stored=evolve(stored, chunk=_retitled(chunk, stored.path, place))),
        place,
        first,
        last,
        head,
    )


def _retitled(chunk: Chunk, path: str, place: Place) -> Chunk:
    if place.is_definition:
        return evolve(
            chunk,
            title=place.title,
            symbol=place.name,
            symbol_kind=place.kind,
            parent=place.around[-1] if place.around else "",
            header_path=" > ".join((*place.around, place.name)),
        )
    if place.name == chunk.title or not place.name:
        return chunk
    file = path.rpartition("/")[2]
    title = f"{file}: {place.name}" if chunk.language in CONFIG_LANGUAGES else place.name
    header = " > ".join((*place.around, place.name))
    return evolve(chunk, title=title, symbol="", symbol_kind="", parent="", header_path=header)


def _has(stored: StoredChunk, line: int) -> bool:
    return stored.chunk.start_line <= line < stored.chunk.end_line
