"""The index: what is in it, what is left out, who writes it, how far it is, and how fast questions are answered."""

from __future__ import annotations

import asyncio
import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from starlette.responses import Response

from cairn.engine.engine import Engine
from cairn.engine.overview import FolderOverview, Overview, Share, overview
from cairn.engine.why_indexed import WhyIndexed, why_indexed
from cairn.errors import InvalidRequestError
from cairn.web import addresses
from cairn.web.addresses import address, repository_name
from cairn.web.asked import Asked
from cairn.web.latency_plot import LINEAR, LOG, ORDER, TIME, latency_plot, title_of
from cairn.web.rendering import fragment, page, wants_fragment
from cairn.web.treemap import Group, Leaf, Treemap, treemap

_CHUNKS, _FILES = "passages", "files"
_WIDE, _NARROW = (1_000, 380), (340, 420)
"""Treemap and plot are drawn for a wide window and for a phone, since their labels do not scale."""
_WIDE_PLOT, _NARROW_PLOT = (1_000, 250), (340, 230)
_COLOURS = 7
"""Languages that have a colour of their own."""
_OTHER = "c8"
_NO_LANGUAGE = "no language"
_SLOWEST = 8
_SOON_MS, _LATER_MS = 2_000, 15_000
"""When a script looks again: while something is going on, and otherwise."""
_CHOICES = {"by": (_CHUNKS, _FILES), "scale": (LOG, LINEAR), "axis": (TIME, ORDER)}
"""What an address may choose, the usual one first."""


@frozen
class Question:
    """What an address asks of the page."""

    choices: Mapping[str, str]
    repository: str
    path: str
    """The path about which it asks whether it is indexed; "" for none."""

    @classmethod
    def of(cls, asked: Asked) -> Question:
        given = asked.request.query_params
        choices = {
            name: given[name] if given.get(name) in values else values[0] for name, values in _CHOICES.items()
        }
        return cls(choices, asked.repository, given.get("path", ""))

    def address(self, **changed: str) -> str:
        """The page with other choices; what is as usual is left out."""
        values = {"repository": self.repository, "path": self.path} | dict(self.choices) | changed
        usual = {name: choices[0] for name, choices in _CHOICES.items()}
        return address(
            addresses.INDEX, {name: value for name, value in values.items() if value != usual.get(name)}
        )

    def hidden(self) -> list[tuple[str, str]]:
        """What a form about a path keeps of the address."""
        chosen = [(name, value) for name, value in self.choices.items() if value != _CHOICES[name][0]]
        return [*chosen, ("repository", self.repository)] if self.repository else chosen


@frozen
class Looked:
    """What the page is made of."""

    seen: Overview
    answers: tuple[WhyIndexed, ...]
    problem: str
    """Why the path that was asked about cannot be explained."""


@frozen
class ShareRow:
    """A row of the table that says what the treemap shows."""

    folder: str
    collection: str
    language: str
    files: int
    chunks: int
    address: str


async def index(asked: Asked) -> Response:
    """The page, or its figures alone where a script asks for them."""
    question = Question.of(asked)
    looked = await asked.work(lambda engine, _: _look(engine, question.path))
    return await asyncio.to_thread(_shown, asked, question, looked)


def _look(engine: Engine, path: str) -> Looked:
    answers: tuple[WhyIndexed, ...] = ()
    problem = ""
    if path:
        try:
            answers = why_indexed(engine, path) if engine.folders else ()
        except InvalidRequestError as refused:
            problem = str(refused)
        if not engine.folders:
            problem = "Choose a repository first: you may see more than can be looked through at once."
    return Looked(overview(engine), answers, problem)


def _shown(asked: Asked, question: Question, looked: Looked) -> Response:
    seen, is_part = looked.seen, wants_fragment(asked.request)
    folders = seen.folders
    languages = Counter[str]()
    for folder in folders:
        for share in folder.shares or ():
            languages[share.language] += _size(share, question)
    colours = {
        language: f"c{number}" for number, (language, _) in enumerate(languages.most_common(_COLOURS), 1)
    }
    groups = _groups(asked, folders, question, colours) or _repositories(seen, question)
    timings, plot_of = seen.timings, (question.choices["scale"], question.choices["axis"])
    values: dict[str, Any] = {
        "seen": seen,
        "state": seen.status,
        "asking": question,
        "maps": _maps(groups),
        "legend": [
            (language or _NO_LANGUAGE, colours.get(language, _OTHER), size)
            for language, size in languages.most_common(_COLOURS)
        ],
        "other": sum(size for language, size in languages.items() if language not in colours),
        "is_counting": any(folder.shares is None for folder in folders),
        "rows": _rows(asked, folders),
        "plots": [
            (name, plot)
            for name, size in (("wide", _WIDE_PLOT), ("narrow", _NARROW_PLOT))
            if (plot := latency_plot(timings, *size, *plot_of))
        ],
        "slowest": [
            (each, title_of(each)) for each in sorted(timings.questions, key=lambda each: -each.ms)[:_SLOWEST]
        ],
        "answers": looked.answers,
        "problem": looked.problem,
        "again_ms": _SOON_MS if seen.is_changing else _LATER_MS,
        "name_of": repository_name,
        "ago": lambda moment: _ago(seen.at, moment),
        "size_of": _bytes,
    }
    if is_part:
        return fragment("index_figures.html", **values)
    return page(asked, "index.html", here="index", **values)


# --- what is in it --------------------------------------------------------------------------------------


def _size(share: Share, question: Question) -> int:
    return share.files if question.choices["by"] == _FILES else share.chunks


def _groups(
    asked: Asked, folders: Sequence[FolderOverview], question: Question, colours: Mapping[str, str]
) -> list[Group]:
    """The collections of all folders, with their languages."""
    found: list[Group] = []
    for folder in folders:
        collections: dict[str, list[Share]] = {}
        for share in folder.shares or ():
            collections.setdefault(share.collection, []).append(share)
        within = f" in {repository_name(folder.uri)}" if len(folders) > 1 else ""
        for name, shares in collections.items():
            leaves = tuple(
                Leaf(
                    share.language or _NO_LANGUAGE,
                    _size(share, question),
                    colours.get(share.language, _OTHER),
                    f"{share.language or _NO_LANGUAGE} of {name}{within}: {_amount(share.files, share.chunks)}",
                    _search_address(asked, folder, share),
                )
                for share in shares
            )
            files, chunks = sum(share.files for share in shares), sum(share.chunks for share in shares)
            whole = address(addresses.SEARCH, [("collection", name), ("repository", asked.named(folder.uri))])
            found.append(Group(name, f"{name}{within}: {_amount(files, chunks)}", whole, leaves))
    return found


def _repositories(seen: Overview, question: Question) -> list[Group]:
    """The repositories of a team's index, where these are more than can be looked through at once."""
    repositories = () if seen.team is None or seen.folders else seen.team.repositories
    by_files = question.choices["by"] == _FILES
    return [
        Group(
            each.name, title, address(addresses.SEARCH, {"repository": each.uri}),
            (Leaf(each.name, each.files if by_files else each.chunks, "c1", title, address(addresses.INDEX, {"repository": each.uri})),),
        )
        for each in repositories
        for title in [f"{each.name}: {_amount(each.files, each.chunks)}"]
    ]  # fmt: skip


def _rows(asked: Asked, folders: Sequence[FolderOverview]) -> list[ShareRow]:
    return [
        ShareRow(
            repository_name(folder.uri) if len(folders) > 1 else "",
            share.collection,
            share.language or _NO_LANGUAGE,
            share.files,
            share.chunks,
            _search_address(asked, folder, share),
        )
        for folder in folders
        for share in sorted(folder.shares or (), key=lambda share: -share.chunks)
    ]


def _search_address(asked: Asked, folder: FolderOverview, share: Share) -> str:
    return address(
        addresses.SEARCH,
        [
            ("collection", share.collection),
            ("language", share.language),
            ("repository", asked.named(folder.uri)),
        ],
    )


def _maps(groups: Sequence[Group]) -> list[tuple[str, Treemap]]:
    if not groups:
        return []
    return [("wide", treemap(groups, *_WIDE)), ("narrow", treemap(groups, *_NARROW))]


# --- in words -------------------------------------------------------------------------------------------


def _amount(files: int, chunks: int) -> str:
    return f"{files:,} {'file' if files == 1 else 'files'}, {chunks:,} {'passage' if chunks == 1 else 'passages'}"


def _ago(now: datetime.datetime, moment: datetime.datetime) -> str:
    seconds = (now - moment).total_seconds()
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            many = int(seconds // size)
            return f"{many:,} {name}{'' if many == 1 else 's'} ago"
    return "just now"


def _bytes(size: int) -> str:
    """`3.8 MB`."""
    amount, unit = float(size), "bytes"
    for bigger in ("kB", "MB", "GB"):
        if amount < 1_000:
            break
        amount, unit = amount / 1_000, bigger
    return f"{amount:,.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:,.1f} {unit}"
