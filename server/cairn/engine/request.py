"""What a request is answered in: the folders that its caller may see, and what they are searched with.

Index readers, vocabulary and vectors are loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attrs import define, evolve, field, frozen

from cairn import protocol
from cairn.embedding.shared import TokenCounter, estimate_tokens
from cairn.engine.answer_cache import CachedAnswer
from cairn.engine.caller import Caller
from cairn.engine.folders import Folder, readers_with_unsaved
from cairn.engine.host import Host
from cairn.engine.methods import Tell
from cairn.errors import InvalidRequestError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.file_queries import collections_within
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import Cancelled, never
from cairn.settings.layers import CHARACTERS
from cairn.settings.sources import contained
from cairn.settings.tree import Leg, Settings
from cairn.text.unicode import well_formed
from cairn.text.uris import path_below
from cairn.workspace.builtin_rules import may_contain_secrets
from cairn.workspace.collections import TAGS

# Retrieval and discovery are imported on use, because a status, often an editor's first request, does not
# need them.
if TYPE_CHECKING:
    from cairn.discovery.indexed_searcher import IndexedSearcher
    from cairn.discovery.preparation import QueryTerms
    from cairn.index.queries.known_words import IndexVocabulary
    from cairn.operations.health import TeamOverview
    from cairn.retrieval.feedback_values import Learned
    from cairn.retrieval.meaning import Meaning
    from cairn.retrieval.query import Query

CACHE, GENERIC = "cache", "generic"
"""The kinds of fallback answers: an earlier answer, or only a message."""

_MAX_TOKENIZER_BYTES = 200_000_000
"""The maximum size of a `tokenizer.json`, six times the largest of the known language models, Gemma's."""

_EVERYTHING = ChunkFilter()
T = TypeVar("T")


@frozen
class Attempt(Generic[T]):
    """An answer, and which part of the search failed."""

    answer: T
    problem: str | None = None
    """Why a part of the search failed while the others answered; None if none failed."""
    without_vectors: bool = False
    """Whether the failed part was the comparison of vectors."""
    cached: bool = False


@define(slots=False)
class Request:
    """A request, from its caller's folders to its answer. Each phase of retrieval has a copy of its own."""

    host: Host
    caller: Caller
    folders: Sequence[Folder]
    settings: Settings
    """The settings of the first folder, limited to the kinds of search that the phase allows."""
    warnings: Sequence[str] = ()
    """Warnings about the settings of the engine."""
    choose: Callable[[object], Sequence[Folder]] | None = None
    """Chooses the folders by the params of a method. It is set if too many repositories are visible."""
    elsewhere: Callable[[Folder, Sequence[str]], Iterator[Folder]] | None = None
    """Finds other repositories of a team's index than that of a folder, in which the imports of a file have
    one of some texts; None if the folders are on this machine."""
    overview: Callable[[], TeamOverview] | None = None
    """Makes the overview of a team's index; None if the folders are on this machine."""
    cancelled: Cancelled = never
    tell: Tell | None = None
    """Called after each finished stage, on the thread of the request."""
    lagging: frozenset[str] = frozenset()
    """The URIs of the folders with changes that were not in the index when the request began."""
    files_read: dict[str, Sequence[str] | None] = field(factory=dict, init=False)
    """The lines of each file that `lines_now` read, by URI."""

    def for_params(self, params: object, tell: Tell | None) -> Request:
        """Return the request of a method with these params, with nothing loaded yet."""
        folders = self.folders if self.choose is None else self.choose(params)
        return evolve(self, folders=folders, tell=tell)

    def catch_up(self) -> None:
        """Wait briefly for the latest saves, so that they are found, and note which folders lag."""
        for folder in self.folders:
            folder.catch_up()
        self.lagging = frozenset(
            folder.uri for folder in self.folders if folder.lacks_files(folder.reader.facts())
        )

    @contextmanager
    def in_one_state(self) -> Iterator[None]:
        """Let this thread read each index in one state during the block (`ConnectedReader.in_one_state`)."""
        with ExitStack() as states:
            for folder in self.folders:
                states.enter_context(folder.reader.in_one_state())
            yield

    def others(self, folder: Folder, texts: Sequence[str]) -> Iterator[Folder]:
        """Yield the other folders with files whose imports may have one of these texts."""
        if self.elsewhere is not None:
            yield from self.elsewhere(folder, texts)
            return
        yield from (each for each in self.folders if each is not folder)
        if folder.sharing is not None and folder.revision is not None:
            from cairn.engine.team_repositories import team_repositories  # Imported only for a team's clone.

            opened = {each.revision.repository for each in self.folders if each.revision is not None}
            team = team_repositories(folder, texts, self.host.model)
            yield from (each for each in team if each.label not in opened)

    @property
    def folder_uris(self) -> tuple[str, ...]:
        return tuple(folder.uri for folder in self.folders)

    def places_of(self, uri: str) -> list[tuple[Folder, str]]:
        """Return the folders that contain the file, several if nested, each with the relative path."""
        places = ((folder, path_below(folder.uri, uri)) for folder in self.folders)
        return [(folder, path) for folder, path in places if path is not None]

    def lines_on_disk(self, uri: str) -> Sequence[str] | None:
        """Return the current lines of a file, indexed or not; None if it is gone or not text."""
        every = (folder.lines_of(path) for folder, path in self.places_of(uri))
        return next((lines for lines in every if lines is not None), None)

    @cached_property
    def readers(self) -> list[OverlaidReader]:
        return readers_with_unsaved(self.folders)

    @cached_property
    def meaning(self) -> Meaning | None:
        """The comparison by vectors; None if settings exclude it. A model is loaded only if vectors exist."""
        if Leg.MEANING not in self.settings.search.legs:
            return None
        from cairn.retrieval.meaning import choose_meaning

        return choose_meaning([reader.facts() for reader in self.readers], self.host.model)

    @cached_property
    def vocabulary(self) -> IndexVocabulary:
        from cairn.index.queries.known_words import IndexVocabulary

        return IndexVocabulary(self.readers)

    @cached_property
    def learned(self) -> Mapping[int, Learned]:
        """What earlier feedback taught, by folder number, for folders that have feedback and use it."""
        every = {
            number: folder.feedback.learned()
            for number, folder in enumerate(self.folders)
            if folder.settings().search.feedback
        }
        return {number: learned for number, learned in every.items() if learned}

    def state(self, learned: Mapping[int, Learned]) -> Hashable:
        """Return a cache key for the state of indexes, unsaved text, settings and feedback.

        If the index changes after this call, the answer is newer than its key. That does no harm: the key is
        never used again, because generations only rise.
        """
        indexes = tuple(
            # The generation alone is not enough: an index can become complete without a new generation.
            (
                *(folder.uri, folder.revision, reader.key, reader.identity()),
                *(reader.facts(), reader.overlay.generation),
            )
            for folder, reader in zip(self.folders, self.readers, strict=True)
        )
        choices = tuple((number, known.version) for number, known in learned.items())
        return self.settings, indexes, choices

    # --- cached answers --------------------------------------------------------------------------------

    def cache_key(self, params: Hashable, *more: Hashable) -> Hashable:
        """Return the key of an answer. Call it before reading the index, lest the answer be older than its
        key."""
        return params, self.folder_uris, self.state(self.learned), more

    def recall(self, key: Hashable) -> Any | None:
        """Return the cached answer if its files are unchanged; else None."""
        cached = self.caller.cache.get(key, lambda each: each.is_current(self.lines_now))
        return cached.answer if cached else None

    def keep(self, key: Hashable, answer: object, characters: int) -> None:
        """Cache an answer of `characters` characters, with the files that the request read for it."""
        self.caller.cache.put(key, CachedAnswer.of(answer, self.files_read), characters)

    def latest_answer(self, params: Hashable) -> Any | None:
        """Return the latest answer to the same request over the same folders if its files are unchanged."""
        wanted = (params, self.folder_uris)
        cached = self.caller.cache.latest(lambda key: key[:2] == wanted)
        return cached.answer if cached and cached.is_current(self.lines_on_disk) else None

    # --- retrieval and discovery -----------------------------------------------------------------------

    def understood(self, text: str) -> Query:
        """Parse a query that asks for evidence."""
        from cairn.retrieval.query import understand

        return evolve(understand(text, None, self.vocabulary, self.settings.search), for_evidence=True)

    def terms(self, query: Query) -> QueryTerms:
        """Return the query's terms and variants, weighted by inverse document frequency in these folders."""
        from cairn.discovery.preparation import QueryTerms
        from cairn.retrieval.introductions import OverviewSubject
        from cairn.retrieval.matching import term_shares

        shares = term_shares(query, self.vocabulary)
        return QueryTerms(query.groups, shares, OverviewSubject.by(query.wording))

    def searcher(self, places: ChunkFilter = _EVERYTHING, *, everywhere: bool = False) -> IndexedSearcher:
        """Return a searcher of the files in `places`. `IndexedSearcher` explains `everywhere`."""
        from cairn.discovery.indexed_searcher import IndexedSearcher

        return IndexedSearcher(
            self.folder_uris,
            self.readers,
            self.meaning,
            self.settings.search,
            self.learned,
            places=places,
            everywhere=everywhere,
        )

    def collections(self, places: ChunkFilter = _EVERYTHING) -> list[protocol.CollectionRef]:
        """Return the collections of all folders within `places`. Collections of the same name are merged."""
        dimension = self.meaning.encoder.dimension if self.meaning else 0
        refs: dict[str, protocol.CollectionRef] = {}
        for reader in self.readers:
            for stats in collections_within(reader, places):
                known = refs.get(stats.name)
                refs[stats.name] = protocol.CollectionRef(
                    name=stats.name,
                    dimension=dimension,
                    vector_count=stats.chunks + (known.vector_count if known else 0),
                    created_at=stats.created_at,
                    updated_at=stats.updated_at,
                    tags=TAGS.get(stats.kind, ()),
                )
        return list(refs.values())

    def token_counter(self, tokenizer: str) -> TokenCounter:
        """Return the token counter that `tokenizer` names. Raise InvalidRequestError for an invalid file.

        The user's settings may name any file; a request or a workspace file may only name one in the
        workspace.
        """
        if tokenizer and tokenizer != CHARACTERS:
            try:
                path = self._tokenizer_file(tokenizer)
                status = path.stat()
                if status.st_size > _MAX_TOKENIZER_BYTES:
                    raise ValueError(f"it is larger than {_MAX_TOKENIZER_BYTES:,} bytes")
                return _counter_of(path, status.st_mtime_ns)
            except Exception as problem:  # The library raises bare exceptions for files that it cannot read.
                raise InvalidRequestError(
                    "config.render.tokenizer",
                    f"{tokenizer!r} cannot be used: {problem}; give the path of a tokenizer.json,"
                    f" {CHARACTERS!r}, or nothing for the code model's words",
                ) from problem
        return estimate_tokens if tokenizer == CHARACTERS else self.host.model.count_tokens

    def _tokenizer_file(self, named: str) -> Path:
        """Return the path. Raise ValueError if it is neither in the workspace nor in the user's settings, and
        if it may hold secrets of the workspace."""
        trees = [folder.settings.without_workspace_file() for folder in self.folders] or [self.settings]
        if all(named != tree.discovery.render.tokenizer for tree in trees):
            roots = [root for folder in self.folders for root in (folder.root, folder.shown)]
            file = contained(named, roots)
            if may_contain_secrets(file.as_posix()):
                raise ValueError("such files may hold secrets")
            return file
        path = Path(*(folder.root for folder in self.folders[:1]), Path(named).expanduser())
        if path.exists() and not path.is_file():
            raise ValueError("it is not a regular file")
        return path

    def lines_now(self, uri: str) -> Sequence[str] | None:
        """Return a file's current lines, with unsaved changes; None if it is gone or not text.

        The file is read once per request. Only files in the index are read, whatever URI a client sends.
        """
        if uri not in self.files_read:
            every = (
                folder.lines_of(path)
                for folder, path in self.places_of(uri)
                if folder.reader.overlay.text_of(path) is not None or path in folder.reader.contents([path])
            )
            self.files_read[uri] = next((lines for lines in every if lines is not None), None)
        return self.files_read[uri]


@lru_cache(maxsize=4)
def _counter_of(path: Path, _modified: int) -> TokenCounter:
    from cairn.embedding.onnx_model import load_tokenizer  # Imported only for a tokenizer file.

    tokenizer = load_tokenizer(path)
    tokenizer.no_truncation()
    return lambda text: len(tokenizer.encode(well_formed(text), add_special_tokens=False))
