"""The question and the filters in an address, and the addresses of similar questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import evolve, field, frozen
from starlette.datastructures import QueryParams

from cairn import protocol
from cairn.errors import InvalidRequestError
from cairn.text.uris import repository_name
from cairn.web import addresses

FILTERS: Mapping[str, str] = {
    "type": "Type",
    "language": "Language",
    "path": "Path",
    "collection": "Collection",
}
"""The filters of a search: their names in addresses, and their labels."""
_SHORT = {"lang": "language", "in": "path", "file": "path", "repo": "repository"}
_TYPED = re.compile(r'(?:^|(?<=\s))(\w+):(?:"([^"]+)"|([^\s":]+))(?=\s|$)')
_LIMIT = 20
_MOST = 100
_MOST_CHIPS = 4


@frozen
class Question:
    text: str = ""
    filters: tuple[tuple[str, str], ...] = ()
    """Names and values, in the order of their choice."""
    repository: str = ""
    limit: int = _LIMIT
    typed: str = field(default="", eq=False)
    """The text in the search box, including typed filters."""

    @classmethod
    def from_query(cls, given: QueryParams) -> Question:
        """Return the question of an address, whose text may contain filters: `lang:go`, `path:"a b"`."""
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
        is_number = limit.isascii() and limit.isdigit() and len(limit) < 4
        shown = min(_MOST, max(1, int(limit))) if is_number else _LIMIT
        return cls(text, tuple(dict.fromkeys(filters)), repository, shown, typed)

    def values(self, name: str) -> tuple[str, ...]:
        return tuple(value for each, value in self.filters if each == name)

    def params(self) -> protocol.SearchParams:
        """Return the params of the search. Raises InvalidRequestError for an unknown type."""
        return protocol.SearchParams(
            query=self.text,
            limit=self.limit,
            context=0,
            explain=True,
            best_only=True,
            filter=protocol.SearchFilter(
                type=tuple(map(_chunk_type, self.values("type"))),
                language=self.values("language"),
                path=self.values("path"),
                collection=self.values("collection"),
            ),
        )

    def address(self, path: str = addresses.SEARCH, **more: object) -> str:
        """Return the address of this question, with more parameters."""
        pairs: list[tuple[str, object]] = [("q", self.text), *self.filters, ("repository", self.repository)]
        if self.limit != _LIMIT:
            pairs.append(("limit", self.limit))
        return addresses.address(path, [*pairs, *more.items()])

    def having(self, name: str, value: str) -> Question:
        if name == "repository":
            return evolve(self, repository=value)
        return evolve(self, filters=(*self.filters, (name, value)))

    def without(self, name: str, value: str) -> Question:
        if name == "repository":
            return evolve(self, repository="")
        return evolve(self, filters=tuple(each for each in self.filters if each != (name, value)))

    def instead(self, text: str) -> Question:
        """Return the question with another text and the same filters."""
        return evolve(self, text=text, limit=_LIMIT)

    def longer(self) -> Question | None:
        """Return the question with a higher limit; None at the highest limit."""
        return evolve(self, limit=min(_MOST, 2 * self.limit)) if self.limit < _MOST else None


@frozen
class Chip:
    """A link that adds a filter to the question or removes one from it."""

    label: str
    kind: str
    address: str
    count: int | None = None
    """The number of shown results that match; None for a chosen filter."""


def chosen(question: Question) -> list[Chip]:
    """Return chips that remove the filters of the question."""
    chips = [
        Chip(value, FILTERS[name], question.without(name, value).address())
        for name, value in question.filters
    ]
    if question.repository:
        name = repository_name(question.repository)
        chips.append(Chip(name, "Repository", question.without("repository", "").address()))
    return chips


def offered(question: Question, results: Sequence[protocol.SearchResult]) -> list[tuple[str, list[Chip]]]:
    """Return, by label, links that add filters which results match; those with the most matches are first."""
    paths = question.values("path")
    counts = {
        "repository": Counter(each.folder for each in results),
        "type": Counter(each.type.value for each in results),
        "language": Counter(each.language for each in results),
        "path": Counter(_folder_below(each.path, paths) for each in results),
        "collection": Counter(each.collection for each in results),
    }
    groups = []
    for name, found in counts.items():
        known = {"", *question.values(name), *([question.repository] if name == "repository" else ())}
        partial = [each for each in found.items() if each[1] < len(results) and each[0] not in known]
        most = sorted(partial, key=lambda each: (-each[1], each[0]))[:_MOST_CHIPS]
        label = "Repository" if name == "repository" else FILTERS[name]
        chips = [
            Chip(
                repository_name(value) if name == "repository" else value,
                label,
                question.having(name, value).address(),
                count,
            )
            for value, count in most
        ]
        if chips:
            groups.append((label, chips))
    return groups


def _folder_below(path: str, chosen: tuple[str, ...]) -> str:
    """Return the path's folder one level below the chosen folders; "" for a file directly in one of them."""
    inside = next((each.strip("/") for each in chosen if path.startswith(each.strip("/") + "/")), "")
    rest = path[len(inside) :].lstrip("/")
    first, slash, _ = rest.partition("/")
    return f"{inside}/{first}".lstrip("/") if slash else ""


def _chunk_type(value: str) -> protocol.ChunkType:
    try:
        return protocol.ChunkType(value.lower())
    except ValueError:
        known = ", ".join(protocol.ChunkType)
        raise InvalidRequestError(
            "type", f"{value!r} is not a type of passage; the types are {known}"
        ) from None
