"""The page about the index: content, skipped files, writing process, progress and durations of queries."""

from __future__ import annotations

import asyncio
import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from starlette.responses import Response

from cairn.engine.left_out import why_indexed
from cairn.engine.overview import FolderOverview, Overview, overview
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.text.counts import counted, duration, sized, took
from cairn.text.uris import repository_name
from cairn.web import addresses
from cairn.web.addresses import address
from cairn.web.drawings import Group, Leaf, latency_plot, title_of, treemap
from cairn.web.rendering import PageRequest, fragment, page, sentence_of, wants_fragment

if TYPE_CHECKING:
    from cairn.engine.folders import Folder
    from cairn.index.reader.records import LanguageStats
    from cairn.operations.why import Why

_SIZES = {"wide": (1_000, 380), "narrow": (340, 420)}
"""Sizes of the treemap for a wide window and for a phone, since its labels do not scale."""
_PLOT_SIZES = {"wide": (1_000, 250), "narrow": (340, 230)}
_COLOURS = 7
_OTHER = "c8"
_NO_LANGUAGE = "no language"
_SLOWEST = 8
_SOON_MS, _LATER_MS = 2_000, 15_000
"""The intervals at which the script updates the page, during changes and otherwise."""


@frozen
class IndexQuery:
    """The parameters in the page's address."""

    by_files: bool
    """Whether the areas of the treemap show files instead of passages."""
    repository: str
    path: str
    """The path of which the page explains whether it is indexed; "" for none."""

    @classmethod
    def of(cls, request: PageRequest) -> IndexQuery:
        given = request.http.query_params
        return cls(given.get("by") == "files", request.repository, given.get("path", ""))

    def address(self, **changed: str) -> str:
        """Return the page's address with other values; default values are left out."""
        by = "files" if self.by_files else ""
        return address(
            addresses.INDEX, {"repository": self.repository, "path": self.path, "by": by} | changed
        )


@frozen
class ShareRow:
    """A row of the table below the treemap."""

    folder: str
    collection: str
    language: str
    files: int
    chunks: int
    address: str


async def index(request: PageRequest) -> Response:
    """Return the page, or only its figures if a script requests these."""
    query = IndexQuery.of(request)
    seen, answers, problem = await request.work(lambda asked: (overview(asked), *_explain(asked, query.path)))
    return await asyncio.to_thread(_shown, request, query, seen, answers, problem)


def _explain(asked: Request, path: str) -> tuple[Sequence[tuple[Folder, Why]], str]:
    """Return why the path is indexed or not, and an error message about the path."""
    if path and not asked.folders:
        return (), "Choose a repository first: you have access to too many to look through all of them."
    try:
        return why_indexed(asked, path) if path else (), ""
    except InvalidRequestError as refused:
        return (), sentence_of(refused)


def _shown(
    request: PageRequest,
    query: IndexQuery,
    seen: Overview,
    answers: Sequence[tuple[Folder, Why]],
    problem: str,
) -> Response:
    folders = seen.folders
    languages = Counter[str]()
    for folder in folders:
        for share in folder.shares or ():
            languages[share.language] += _size(share, query)
    colours = {
        language: f"c{number}" for number, (language, _) in enumerate(languages.most_common(_COLOURS), 1)
    }
    groups = _groups(request, folders, query, colours) or _repositories(seen, query)
    timings = seen.timings
    values: dict[str, Any] = {
        "seen": seen,
        "state": seen.status,
        "query": query,
        "maps": [(name, treemap(groups, *size)) for name, size in _SIZES.items() if groups],
        "legend": [
            (language or _NO_LANGUAGE, colours.get(language, _OTHER), size)
            for language, size in languages.most_common(_COLOURS)
        ],
        "other": sum(size for language, size in languages.items() if language not in colours),
        "is_counting": any(folder.shares is None for folder in folders),
        "rows": _rows(request, folders),
        "plots": [
            (name, plot) for name, size in _PLOT_SIZES.items() if (plot := latency_plot(timings, *size))
        ],
        "slowest": [
            (each, title_of(each)) for each in sorted(timings.questions, key=lambda each: -each.ms)[:_SLOWEST]
        ],
        "answers": answers,
        "problem": problem,
        "again_ms": _SOON_MS if seen.is_changing else _LATER_MS,
        "name_of": repository_name,
        "ago": lambda moment: _ago(seen.at, moment),
        "size_of": sized,
        "took": took,
    }
    if wants_fragment(request.http):
        return fragment("index_figures.html", **values)
    return page(request, "index.html", here="index", **values)


# --- content of the index -------------------------------------------------------------------------------


def _size(share: LanguageStats, query: IndexQuery) -> int:
    return share.files if query.by_files else share.chunks


def _groups(
    request: PageRequest, folders: Sequence[FolderOverview], query: IndexQuery, colours: Mapping[str, str]
) -> list[Group]:
    """Return the collections of all folders, each with its languages."""
    found: list[Group] = []
    for folder in folders:
        collections: dict[str, list[LanguageStats]] = {}
        for share in folder.shares or ():
            collections.setdefault(share.collection, []).append(share)
        within = f" in {repository_name(folder.uri)}" if len(folders) > 1 else ""
        for name, shares in collections.items():
            leaves = []
            for share in shares:
                language, colour = share.language or _NO_LANGUAGE, colours.get(share.language, _OTHER)
                title = f"{language} of {name}{within}: {_amount(share.files, share.chunks)}"
                link = _search_address(request, folder, share)
                leaves.append(Leaf(language, _size(share, query), colour, title, link))
            files, chunks = sum(share.files for share in shares), sum(share.chunks for share in shares)
            whole = address(addresses.SEARCH, {"collection": name, "repository": request.named(folder.uri)})
            found.append(Group(name, f"{name}{within}: {_amount(files, chunks)}", whole, tuple(leaves)))
    return found


def _repositories(seen: Overview, query: IndexQuery) -> list[Group]:
    """Return the repositories of a team's index if there are too many to show their collections, too."""
    repositories = () if seen.team is None or seen.folders else seen.team.repositories
    groups = []
    for each in repositories:
        title = f"{each.name}: {_amount(each.files, each.chunks)}"
        page_of = address(addresses.INDEX, {"repository": each.uri})
        leaf = Leaf(each.name, each.files if query.by_files else each.chunks, "c1", title, page_of)
        groups.append(Group(each.name, title, address(addresses.SEARCH, {"repository": each.uri}), (leaf,)))
    return groups


def _rows(request: PageRequest, folders: Sequence[FolderOverview]) -> list[ShareRow]:
    return [
        ShareRow(
            repository_name(folder.uri) if len(folders) > 1 else "",
            share.collection,
            share.language or _NO_LANGUAGE,
            share.files,
            share.chunks,
            _search_address(request, folder, share),
        )
        for folder in folders
        for share in sorted(folder.shares or (), key=lambda share: -share.chunks)
    ]


def _search_address(request: PageRequest, folder: FolderOverview, share: LanguageStats) -> str:
    filters = {"collection": share.collection, "language": share.language}
    return address(addresses.SEARCH, {**filters, "repository": request.named(folder.uri)})


# --- formatting -----------------------------------------------------------------------------------------


def _amount(files: int, chunks: int) -> str:
    return f"{counted(files, 'file')}, {counted(chunks, 'passage')}"


def _ago(now: datetime.datetime, moment: datetime.datetime) -> str:
    seconds = (now - moment).total_seconds()
    return f"{duration(seconds)} ago" if seconds >= 60 else "just now"
