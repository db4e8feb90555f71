"""An indexed folder with its ranked passages and excerpts, for tests of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.retrieval.indexed_folder import IndexedFolder

from cairn.discovery.excerpts import Quoter
from cairn.discovery.indexed_searcher import IndexedSearcher
from cairn.embedding.packaged import load_packaged
from cairn.embedding.shared import estimate_tokens
from cairn.embedding.static import StaticTable
from cairn.protocol.discovery_messages import Excerpt
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.place_choice import whole_chunks
from cairn.retrieval.places import Outline, outlines_of_folders
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.scores import Ranked
from cairn.retrieval.window_ranking import (
    FurtherPassage,
    Strength,
    best_chunks,
    further_passages,
    passages_of_results,
)
from cairn.retrieval.windows import Passage
from cairn.settings.discovery import PromptRenderConfig
from cairn.text.uris import file_uri
from cairn.text.verbatim import lines_of


@cache
def packaged_table() -> StaticTable:
    return load_packaged()


class FolderWithPassages(IndexedFolder):
    """A folder with vectors of the packaged static table."""

    def __init__(self, base: Path, files: Mapping[str, str]) -> None:
        super().__init__(base, files, packaged_table())
        self.uri = self.root.as_uri()
        self.meaning = Meaning(packaged_table())

    def passages(self, question: str, *, with_vectors: bool = True) -> Sequence[Passage]:
        return self._searched(question, self.meaning if with_vectors else None).passages()

    def strength(self, question: str) -> Strength | None:
        return self._searched(question, self.meaning).strength

    def discovered(self, question: str, limit: int) -> list[str]:
        """Return the paths of the first chunks of a discovery, best first."""
        collections = [stats.name for stats in self.reader.stats().collections]
        (found,) = self._searcher(self.meaning).search([question], collections, limit)
        return [chunk.metadata.file_path for chunk in found]

    def _searched(self, question: str, meaning: Meaning | None) -> IndexedSearcher:
        searcher = self._searcher(meaning)
        searcher.search([question], [], 10)
        return searcher

    def _searcher(self, meaning: Meaning | None) -> IndexedSearcher:
        return IndexedSearcher([self.uri], [self.reader], meaning, self.settings.search, {}, everywhere=True)

    def shown(self, passage: Passage) -> str:
        """Return the lines of the passage in the index."""
        chunk = passage.stored.chunk
        lines = lines_of(chunk.text)
        return "\n".join(lines[passage.first - chunk.start_line : passage.last - chunk.start_line])

    def best_chunks(self, question: str, limit: int = 10) -> list[Ranked]:
        ranking = rank([self.reader], [understand(question)], self.meaning, self.settings.search)
        return best_chunks(ranking, packaged_table(), limit)

    def further(
        self, question: str, most: int, limit: int = 10
    ) -> list[tuple[Ranked, Sequence[FurtherPassage]]]:
        """Return the results of a search, each with up to `most` further passages."""
        ranking = rank([self.reader], [understand(question)], self.meaning, self.settings.search)
        results = ranking.results(limit, self.settings.search.diversity)
        ranked, _ = passages_of_results(ranking, results, packaged_table())
        rows = whole_chunks([self.reader], results)
        return list(zip(results, further_passages(ranking, ranked, rows, most), strict=True))

    def lines_now(self, uri: str) -> Sequence[str] | None:
        """Return the lines of a file, from unsaved text if there is any."""
        for file in self.root.rglob("*"):
            path = file.relative_to(self.root).as_posix()
            if file.is_file() and file_uri(self.uri, path) == uri:
                text = self.overlay.text_of(path)
                return lines_of(file.read_bytes().decode() if text is None else text)
        return None

    def outlines(self, passages: Sequence[Passage]) -> Mapping[tuple[int, str], Outline]:
        return outlines_of_folders([self.reader], ((each.folder, each.stored) for each in passages))

    def quote(
        self, passages: Sequence[Passage], budget: int = 4_000, config: PromptRenderConfig | None = None
    ) -> list[Excerpt]:
        render, outlines = config or PromptRenderConfig(), self.outlines(passages)
        return Quoter([self.uri], outlines, self.lines_now, estimate_tokens, render).quote(passages, budget)

    def excerpts(self, question: str, **how: Any) -> list[Excerpt]:
        return self.quote(self.passages(question), **how)


FolderOf = Callable[[Mapping[str, str]], FolderWithPassages]
