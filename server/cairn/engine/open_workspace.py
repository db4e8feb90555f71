"""The open folders as discovery sees them: what is searched, compared, counted and checked. Nothing is read before it is
asked for."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from cairn import protocol
from cairn.embedding.embedder import Embedder
from cairn.engine.folders import readers_with_unsaved
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError, ModelError
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.queries.files import collections_within
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.filters import ChunkFilter
from cairn.retrieval.introductions import Introduced
from cairn.retrieval.learned import Learned
from cairn.retrieval.meaning import Meaning, choose_meaning
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import EVERYTHING
from cairn.retrieval.rarity import term_shares
from cairn.settings.contained import contained
from cairn.settings.layers import CHARACTERS
from cairn.settings.tree import Leg
from cairn.workspace.collections import TAGS, FileKind

# Imported by what needs it: a search, which may be an editor's first question, needs nothing of discovery.
if TYPE_CHECKING:
    from cairn.discovery.indexed_searcher import IndexedSearcher
    from cairn.discovery.render import TokenCounter
    from cairn.discovery.terms import QueryTerms

logger = logging.getLogger(__name__)

_MAX_TOKENIZER_BYTES = 200_000_000
"""Six times the largest `tokenizer.json` of the well-known language models, Gemma's with 33 MB."""


@define(slots=False)
class OpenWorkspace(Request):
    """A request that is answered by retrieval."""

    files_read: dict[str, Sequence[str] | None] = field(factory=dict, init=False)
    """The lines of each file that evidence was checked against, by URI."""

    @cached_property
    def readers(self) -> list[OverlaidReader]:
        """The folders' indexes, with unsaved text as it is now."""
        return readers_with_unsaved(self.folders)

    @cached_property
    def meaning(self) -> Meaning | None:
        """How texts are compared by meaning; None where there are no vectors, or the settings say not to.

        Nobody waits for a model before there are vectors to compare with.
        """
        if Leg.MEANING not in self.settings.search.legs:
            return None
        facts = [reader.facts_with_unsaved() for reader in self.readers]
        return choose_meaning(facts, self._embedder, self.engine.model.static_table)

    def _embedder(self) -> Embedder | None:
        try:
            return self.engine.model.embedder()
        except ModelError as problem:  # `status` says so; the rest goes on
            logger.warning("%s", problem)
            return None

    @cached_property
    def vocabulary(self) -> IndexVocabulary:
        return IndexVocabulary(self.readers)

    @cached_property
    def learned(self) -> Mapping[int, Learned]:
        """What earlier choices say by the folder's number, of those folders that have any and whose settings use them."""
        every = {
            number: folder.feedback.learned()
            for number, folder in enumerate(self.folders)
            if folder.settings().search.feedback
        }
        return {number: learned for number, learned in every.items() if learned}

    def state(self, learned: Mapping[int, Learned]) -> Hashable:
        """The state of indexes, unsaved text, model, settings and choices, on which all that is read of them depends.

        The index may change before it is read: then the answer is newer than its key, under which nobody asks again,
        because generations only rise.
        """
        indexes = tuple(
            # Not the generation alone: whether the index is complete can change without it.
            (
                *(folder.uri, folder.revision, reader.key, reader.identity()),
                *(reader.facts(), reader.overlay.generation),
            )
            for folder, reader in zip(self.folders, self.readers, strict=True)
        )
        choices = tuple((number, known.version) for number, known in learned.items())
        return self.settings, self.engine.model.version(), indexes, choices

    def understood(self, text: str) -> Query:
        """The question, understood as one for evidence."""
        return evolve(understand(text, None, self.vocabulary, self.settings.search), for_evidence=True)

    def terms(self, query: Query) -> QueryTerms:
        """The question's terms with what else counts as each, weighed by inverse document frequency in these folders."""
        from cairn.discovery.terms import QueryTerms

        return QueryTerms(query.groups, term_shares(query, self.vocabulary), Introduced.by(query.wording))

    def searcher(self, places: ChunkFilter = EVERYTHING, *, everywhere: bool = False) -> IndexedSearcher:
        """A searcher of what lies in `places`; `everywhere` is that of `IndexedSearcher`."""
        from cairn.discovery.indexed_searcher import IndexedSearcher

        return IndexedSearcher(
            self.folder_uris,
            self.readers,
            self.meaning,
            self.settings.search,
            self.cancelled,
            self.learned,
            places=places,
            everywhere=everywhere,
        )

    def collections(self, places: ChunkFilter = EVERYTHING) -> list[protocol.CollectionRef]:
        """The collections of all folders, as far as they lie in `places`; one that several folders have counts once."""
        dimension = self.meaning.dimension if self.meaning else 0
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
                    tags=TAGS[FileKind(stats.kind)],
                )
        return list(refs.values())

    def token_counter(self, tokenizer: str) -> TokenCounter:
        """What `PromptRenderConfig.tokenizer` names. Raises InvalidRequestError for a file that is not a tokenizer.

        The user's settings may name any file; a request and a workspace's own file can only name one in the workspace.
        """
        if tokenizer and tokenizer != CHARACTERS:
            try:
                path = self._tokenizer_file(tokenizer)
                status = path.stat()
                if status.st_size > _MAX_TOKENIZER_BYTES:
                    raise ValueError(f"it is larger than {_MAX_TOKENIZER_BYTES:,} bytes")
                return _counter_of(path, status.st_mtime_ns)
            except Exception as problem:  # tokenizers raises bare exceptions for what it cannot read
                raise InvalidRequestError(
                    "config.render.tokenizer",
                    f"{tokenizer!r} cannot be used: {problem}; give the path of a tokenizer.json, {CHARACTERS!r},"
                    " or nothing for the installed model's",
                ) from problem
        from cairn.discovery.render import estimate_tokens

        installed = None if tokenizer == CHARACTERS else self.engine.model.tokenizer()
        return installed.count if installed else estimate_tokens

    def _tokenizer_file(self, named: str) -> Path:
        """Raises ValueError where there is no such file, or it is outside the workspace and not in the user's settings."""
        trees = [folder.settings.without_workspace_file() for folder in self.folders] or [self.settings]
        if all(named != tree.discovery.render.tokenizer for tree in trees):
            return contained(
                named, [place for folder in self.folders for place in (folder.root, folder.shown)]
            )
        path = Path(named).expanduser()
        if path.exists() and not path.is_file():
            raise ValueError("it is not a regular file")
        return path

    def lines_now(self, uri: str) -> Sequence[str] | None:
        """The lines of a file with unsaved changes; None where it is gone or not text. It is read once for each request.

        No URI leads to a file that the index does not hold, whoever sends it.
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
    from tokenizers import Tokenizer  # which only those need who name a file

    from cairn.embedding.tokenization import TextTokenizer

    return TextTokenizer(Tokenizer.from_file(str(path))).count
