"""What an address asks: a question with its filters, and the addresses of the questions beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen
from starlette.datastructures import QueryParams

from cairn import protocol
from cairn.errors import InvalidRequestError
from cairn.web import addresses

FILTERS: Mapping[str, str] = {
    "type": "Type",
    "language": "Language",
    "path": "Path",
    "collection": "Collection",
}
"""The filters of a search, as addresses and as people name them."""
_SHORT = {"lang": "language", "in": "path", "file": "path", "repo": "repository"}
_TYPED = re.compile(r'(?:^|(?<=\s))(\w+):(?:"([^"]+)"|([^\s":]+))(?=\s|$)')
_LIMIT = 20
_MOST = 100


@frozen
class Question:
    """A question with its filters."""

    text: str = ""
    filters: tuple[tuple[str, str], ...] = ()
    """Name and value, in the order in which they were chosen."""
    repository: str = ""
    limit: int = _LIMIT
    typed: str = field(default="", eq=False)
    """What stands in the box: the text as it was typed."""

    @classmethod
    def asked(cls, given: QueryParams) -> Question:
        """The question of an address. Filters may also be typed into the question: `lang:go`, `path:"a b"`."""
        typed = given.get("q", "")
        filters = [(name, value) for name in FILTERS for value in given.getlist(name) if value]
        repository = given.get("repository", "")

        def taken(match: re.Match[str]) -> str:
            nonlocal repository
            name = _SHORT.get(match[1].lower(), match[1].lower())
            value = match[2] or match[3]
            if name == "repository":
                repository = value
            elif name in FILTERS:
                filters.append((name, value))
            else:
                return match[0]
            return ""

        text = _TYPED.sub(taken, typed).strip()
        limit = given.get("limit", "")
        shown = (
            min(_MOST, max(1, int(limit)))
            if limit.isascii() and limit.isdigit() and len(limit) < 4
            else _LIMIT
        )
        return cls(text, tuple(dict.fromkeys(filters)), repository, shown, typed)

    def values(self, name: str) -> tuple[str, ...]:
        """The values that are given for one filter."""
        return tuple(value for each, value in self.filters if each == name)

    def params(self, *, explain: bool) -> protocol.SearchParams:
        """What the engine is asked. Raises InvalidRequestError for a type that there is not."""
        return protocol.SearchParams(
            query=self.text,
            limit=self.limit,
            context=0,
            explain=explain,
            filter=protocol.SearchFilter(
                type=tuple(map(_chunk_type, self.values("type"))),
                language=self.values("language"),
                path=self.values("path"),
                collection=self.values("collection"),
            ),
        )

    def address(self, path: str = addresses.SEARCH, **more: object) -> str:
        """The address that asks this."""
        pairs: list[tuple[str, object]] = [("q", self.text), *self.filters, ("repository", self.repository)]
        if self.limit != _LIMIT:
            pairs.append(("limit", self.limit))
        return addresses.address(path, [*pairs, *more.items()])

    def having(self, name: str, value: str) -> Question:
        """The same with one more filter."""
        if name == "repository":
            return evolve(self, repository=value)
        return evolve(self, filters=(*self.filters, (name, value)))

    def without(self, name: str, value: str) -> Question:
        """The same without one of its filters."""
        if name == "repository":
            return evolve(self, repository="")
        return evolve(self, filters=tuple(each for each in self.filters if each != (name, value)))

    def longer(self) -> Question | None:
        """The same with more results; None where there can be no more."""
        return evolve(self, limit=min(_MOST, 2 * self.limit)) if self.limit < _MOST else None


@frozen
class Chip:
    """A filter that can be chosen, or left out again."""

    label: str
    kind: str
    address: str
    count: int | None = None
    """Results of those shown that have it; None for a filter that is chosen."""


def chosen(question: Question) -> list[Chip]:
    """The filters of the question."""
    chips = [
        Chip(value, FILTERS[name], question.without(name, value).address())
        for name, value in question.filters
    ]
    if question.repository:
        name = addresses.repository_name(question.repository)
        chips.append(Chip(name, "Repository", question.without("repository", "").address()))
    return chips


_MOST_CHIPS = 4


def offered(question: Question, results: Iterable[protocol.SearchResult]) -> list[tuple[str, list[Chip]]]:
    """Filters that tell the results apart, those first that keep the most of them, by what they are about."""
    counts: dict[str, dict[str, int]] = {name: {} for name in ("repository", *FILTERS)}
    total = 0
    for result in results:
        total += 1
        values = {
            "repository": result.folder,
            "type": result.type.value,
            "language": result.language,
            "path": _folder_below(result.path, question.values("path")),
            "collection": result.collection,
        }
        for name, value in values.items():
            if value:
                counts[name][value] = counts[name].get(value, 0) + 1
    groups = []
    for name, found in counts.items():
        known = set(question.values(name)) | ({question.repository} if name == "repository" else set())
        told = sorted(
            ((value, count) for value, count in found.items() if count < total and value not in known),
            key=lambda each: (-each[1], each[0]),
        )[:_MOST_CHIPS]
        label = "Repository" if name == "repository" else FILTERS[name]
        chips = [
            Chip(
                addresses.repository_name(value) if name == "repository" else value,
                label,
                question.having(name, value).address(),
                count,
            )
            for value, count in told
        ]
        if chips:
            groups.append((label, chips))
    return groups


def _folder_below(path: str, chosen: tuple[str, ...]) -> str:
    """The first folder of the path that says more than those that were chosen; "" at the top."""
    inside = next((each.strip("/") for each in chosen if path.startswith(each.strip("/") + "/")), "")
    rest = path[len(inside) :].lstrip("/")
    first, slash, _ = rest.partition("/")
    return f"{inside}/{first}".lstrip("/") if slash else ""


def _chunk_type(value: str) -> protocol.ChunkType:
    try:
        return protocol.ChunkType(value.lower())
    except ValueError:
        known = ", ".join(protocol.ChunkType)
        raise InvalidRequestError("type", f"{value!r} is not a type of passage; there are {known}") from None
