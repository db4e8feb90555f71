"""The page of a change: its diff, and for each hunk what depends on it and what else belongs to it.

The change is what differs from a commit, or a diff that a form sends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from attrs import evolve, frozen
from starlette.responses import Response

from cairn import protocol
from cairn.engine.file_page import is_local
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.http.bodies import limited_body
from cairn.web import addresses
from cairn.web.addresses import address
from cairn.web.diff_lines import size_of
from cairn.web.highlighting import Highlighting
from cairn.web.rendering import PageRequest, page, sentence_of, streamed_page
from cairn.web.views.change_parts import Belongings, Limits, ShownFile, anchor_of, shown_file

_ENTRIES, _MOST_ENTRIES = 30, 300
"""The number of entries that each list has at most, and on request. The lists of a hunk are parts of them."""
_MOST_CHOICES = 200
"""The number of folders up to which a list offers them."""
_MOST_LISTED = 2_000
"""The maximum length of the list of files."""
_MOST_FILES, _MOST_LINES = 100, 4_000
"""The limits of the files and of the lines on a page. Further files are on pages of their own."""
_OPEN_LINES = 1_500
"""The number of lines after which files are folded."""
_LIMITS, _LIMITS_ALONE = Limits(blocks=100, lines=300), Limits(blocks=500, lines=3_000)
"""The limits of a file, and of one on a page of its own."""


@frozen
class Asked:
    """The parameters in the page's address, or in its form."""

    base: str = ""
    staged: bool = False
    repository: str = ""
    file: str = ""
    """The only file whose hunks are shown; "" for all files."""
    entries: int = _ENTRIES
    """The number of entries that each list has at most."""
    diff: str | None = None
    """The text of a unified diff; None to compare the files with `base`."""

    @classmethod
    async def of(cls, request: PageRequest) -> Asked:
        given: Mapping[str, str] = request.http.query_params
        if request.http.method == "POST":
            body = (await limited_body(request.http, request.served.settings)).decode("utf-8", "replace")
            given = dict(parse_qsl(body, keep_blank_values=True))
        diff = given.get("diff", "").replace("\r\n", "\n")  # Browsers send these line ends.
        return cls(
            given.get("base", "").strip(),
            given.get("staged", "") != "",
            given.get("repository", ""),
            given.get("file", ""),
            _MOST_ENTRIES if given.get("more", "") else _ENTRIES,
            diff if diff.strip() else None,
        )

    def params(self, folder: str) -> protocol.ChangeParams:
        """Return the params. Raises InvalidRequestError."""
        return protocol.ChangeParams(self.base or None, self.diff, self.staged, folder, self.entries)

    def address(self, **changed: str) -> str:
        """Return the address of the page with other values; a diff has no address."""
        staged, more = "1" if self.staged else "", "1" if self.entries > _ENTRIES else ""
        values = {"base": self.base, "staged": staged, "repository": self.repository}
        return address(addresses.CHANGE, values | {"file": self.file, "more": more} | changed)


@frozen
class Choices:
    """The folders and repositories that can be chosen."""

    folders: Sequence[tuple[str, str]]
    """The URI and the label of each; none if there are too many."""
    has_files: bool
    """Whether one is a folder of this machine, whose files can be compared with a commit."""
    is_team: bool
    """Whether they are repositories of a team's index, of which `NAME@REF` names a branch."""


async def change(request: PageRequest) -> Response:
    asked = await Asked.of(request)
    everywhere, chosen = evolve(request, repository=""), evolve(request, repository=asked.repository)
    choices = await everywhere.work(_choices)
    values: dict[str, Any] = {"asked": asked, "choices": choices, "problem": "", "answer": None}
    try:
        folder = await chosen.work(lambda each: each.folders[0].uri) if asked.repository else ""
        if not (asked.base or asked.diff or choices.has_files):
            return page(request, "change.html", **values)
        # Places of other folders may depend on the change. A team's server finds them by itself.
        within = chosen if choices.is_team else everywhere
        answer = await within.answer("change", asked.params(folder))
    except InvalidRequestError as problem:
        # The link to the page asks for nothing that could be wrong.
        status = 400 if asked != Asked() else 200
        return page(request, "change.html", status=status, **values | {"problem": sentence_of(problem)})
    included = _included(answer.files, asked)
    texts = await within.work(partial(_texts, files=included))
    colours = Highlighting()
    work = partial(_shown, request, asked, answer, included, texts, colours)
    shown = await request.highlight(work, colours)
    return streamed_page(request, "change.html", colours.stop, **values | shown)


def _choices(asked: Request) -> Choices:
    folders = asked.folders
    listed = [(each.uri, each.label) for each in folders] if len(folders) <= _MOST_CHOICES else []
    return Choices(listed, any(map(is_local, folders)), asked.elsewhere is not None)


def _included(files: Sequence[protocol.ChangedFile], asked: Asked) -> Sequence[protocol.ChangedFile]:
    """Return the files whose hunks are on the page."""
    if asked.file:
        return [each for each in files if each.path == asked.file]
    included, lines = list[protocol.ChangedFile](), 0
    for each in files[:_MOST_FILES]:
        lines += min(sum(size_of(each)), len(each.hunks) * _LIMITS.lines)
        if included and lines > _MOST_LINES:
            break
        included.append(each)
    return included


_Texts = Mapping[str, tuple[str, Sequence[str] | None]]
"""By the URI of a file: the URI of its folder, and its current lines; None if it is not indexed."""


def _texts(asked: Request, files: Sequence[protocol.ChangedFile]) -> _Texts:
    found = {}
    for each in files:
        folders = asked.places_of(each.uri)
        found[each.uri] = folders[0][0].uri if folders else "", asked.lines_now(each.uri)
    return found


def _shown(
    request: PageRequest,
    asked: Asked,
    answer: protocol.ChangeAnswer,
    included: Sequence[protocol.ChangedFile],
    texts: _Texts,
    colours: Highlighting,
) -> dict[str, Any]:
    belongings = Belongings(request, answer)
    limits = _LIMITS_ALONE if asked.file else _LIMITS
    anchors = {each.uri: anchor_of(number) for number, each in enumerate(included)}
    sizes = [(each, *size_of(each)) for each in answer.files]

    def files() -> Iterator[ShownFile]:
        """Yield the files, each as soon as it is highlighted."""
        lines = 0
        for each in included:
            shown = partial(shown_file, belongings, anchors[each.uri], each, *texts[each.uri], limits)
            # The files can have the state before a diff.
            shown = partial(shown, may_be_before=bool(asked.diff), is_open=lines < _OPEN_LINES)
            file = colours.run(shown)
            lines += file.lines
            yield file

    return {
        "answer": answer,
        "files": files(),
        "has_more": asked.entries == _ENTRIES == max(map(len, _lists(answer))),
        "left_out": len(answer.files) - len(included),
        "every": [(*each, anchors.get(each[0].uri, "")) for each in sizes[:_MOST_LISTED]],
        "added": sum(added for _, added, _ in sizes),
        "removed": sum(removed for *_, removed in sizes),
        **belongings.summary(),
    }


def _lists(answer: protocol.ChangeAnswer) -> Sequence[Sequence[object]]:
    return answer.changed, answer.dependents, answer.tests, answer.companions, answer.unreached
