"""Whether cited lines stand in their files: excerpts of an answer, and fenced lines of a prompt under their
heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from cairn.protocol.places import citation
from cairn.text.verbatim import lines_of
from cairn.workspace.scan import read_text

_HEADING = re.compile(
    r"^(?:#{1,6} |\d+\. |- )?[`*]*(?P<path>[^\s`#].*?)#L(?P<first>\d+)(?:-L?(?P<last>\d+))?\b"
)
_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})")


@frozen
class Cited:
    """Lines as an answer or a prompt shows them."""

    path: str
    """Relative to the checkout."""
    first: int
    last: int
    """Lines from 1, inclusive."""
    lines: tuple[str, ...]

    def stands_in(self, tree: Path) -> bool:
        """Whether the file has these very lines there."""
        try:
            text = read_text(tree / self.path)
        except OSError:
            return False
        there = lines_of(text or "")[self.first - 1 : self.last]
        return bool(there) and tuple(there) == self.lines


def cited_in_answer(answer: Mapping[str, Any]) -> Iterator[Cited]:
    """The `excerpts` of a discovery, and the further passages of a search's results, where there are any.

    An excerpt whose citation is not that of its range holds no line.
    """
    for excerpt in answer.get("excerpts") or ():
        cited = lines_shown(excerpt["path"], excerpt["range"], excerpt["text"])
        said = excerpt.get("citation", citation(cited.path, (cited.first - 1, cited.last)))
        yield (
            cited if said == citation(cited.path, (cited.first - 1, cited.last)) else evolve(cited, lines=())
        )
    for result in answer.get("results") or ():
        for passage in result.get("passages") or ():
            yield lines_shown(result["path"], passage["range"], passage["text"])


def lines_shown(path: str, lines: Mapping[str, Any], text: str) -> Cited:
    """A text as the lines of an LSP range, which counts from 0 and excludes the end."""
    text = text.removesuffix("\n").removesuffix("\r")
    return Cited(path, lines["start"]["line"] + 1, lines["end"]["line"], tuple(lines_of(text)))


def cited_in_prompt(prompt: str) -> Iterator[Cited]:
    """What stands in a fence below a line with `path#Lfirst-Llast`. A fence that does not end holds no line.

    What is quoted may itself look like a heading, as links of a README do: no citation is looked for within a
    fence.
    """
    lines = lines_of(prompt)
    number = 0
    while number < len(lines) - 1:
        heading, fence = _HEADING.match(lines[number]), _FENCE.match(lines[number + 1])
        number += 1
        if heading and fence:
            body = _fenced(lines[number + 1 :], fence["fence"])
            number += len(body) + 1
            yield Cited(
                heading["path"], int(heading["first"]), int(heading["last"] or heading["first"]), body
            )


def _fenced(lines: Sequence[str], fence: str) -> tuple[str, ...]:
    return tuple(lines[: lines.index(fence)]) if fence in lines else ()
