"""Split a report into title, prose, code and program output, without boilerplate. Headings of forms, check
lists and descriptions of the machine are long and say nothing about the fault."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen


@frozen
class Parts:
    """The parts of a report; "" for a missing part."""

    title: str
    prose: str
    code: str
    output: str
    """The lines that programs printed, without stack frames."""


def read_parts(text: str) -> Parts:
    """Return the parts of a report from which stack frames have been removed."""
    title, rest = _split_title(_COMMENT.sub(" ", text).strip())
    lines: dict[str, list[str]] = {"prose": [], "code": [], "output": []}
    for part, line in _sorted_lines(rest):
        lines[part].append(line)
    prose, code, output = (without_addresses("\n".join(found).strip()) for found in lines.values())
    return Parts(_LABEL.sub("", without_addresses(title)).strip(), prose, code, output)


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LABEL = re.compile(r"^\s*(?:\[\s*\w{3,15}\s*\]\s*:?|(?:BUG|ENH|DOC|FEAT|Bug|Feature request)\s*:)\s*")
_LONGEST_TITLE = 200
_SENTENCE_END = re.compile(r"[.!?]\s+")


def _split_title(text: str) -> tuple[str, str]:
    """Return the title and the rest. Of a long first line, only the first sentence is the title."""
    first, _, rest = text.partition("\n")
    end = _SENTENCE_END.search(first)
    if len(first) > _LONGEST_TITLE and end:
        return first[: end.start() + 1], f"{first[end.end() :]}\n{rest}"
    return first, rest


_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\s]*\)")
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s)>\]\"']+")
_DATA = re.compile(r"\S{120,}")


def without_addresses(text: str) -> str:
    """Return the text without URLs and without tokens that are so long that they must be data."""
    return _DATA.sub(" ", _ADDRESS.sub(" ", _LINK.sub(r"\1", text)))


# --- lines ------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,}|\{\{\{|\}\}\})")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.|In ?\[\d*\]:|\$|irb>|julia>) ?(?=\S)")
_CODE_LINE = re.compile(
    r"""^\s*(?:
        (?:from\s+[\w.]+\s+)?import\s+[\w.{*(] | (?:async\s+)?def\s+\w+ | class\s+\w+ | @\w[\w.]* | return\b | raise\s+\w
        | with\s+\w.*: | for\s+\w.*: | if\s.*:$ | else:$ | try:$ | except\b.*: | assert\s | \#include
        | (?:let|const|var|fn|func|pub|use|package)\s+\w.*[;{(=]
        | [\w.\[\]'", ]{1,80}\s[-+*/|&]?=\s\S | [\w.]+\(.*\)?[,;]?$ | [\w.]+\(.*\).*[;{)]$ | [})\]]++[;,)]*+$
    )""",  # noqa: E501
    re.VERBOSE,
)
_OUTPUT_LINE = re.compile(
    r"""^\s*(?:Out\[\d+\]: | [\w.]*(?:Error|Exception|Warning|Panic)\b\ ?: | E\ \ + | FAILED\  | ---?\ FAIL | thread\ '
        | error(?:\[\w+\])?: | warning: | fatal: | panic: | Caused\ by:)""",  # noqa: E501
    re.VERBOSE,
)
_CHECK_BOX = re.compile(r"^\s*[-*]\s*\[[ xX]?\]")
_RULE = re.compile(r"^\s*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$")
_TRACKER = re.compile(
    r"""^\s*(?:\(last\ modified\ by\ .*\) | _No\ response_ | Description | Original\ (?:issue|author|comments?)\b.* | Referenced\ issues.*
        | </?(?:details|summary|p|br|img)\b.*> | !\[.* | Attachments?:.* | (?:Thanks|Cheers|Best)\b.{0,20})\s*$""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)
_VERSION = re.compile(
    r"""^\s*+[-*•]?\s*+(?:
        [\w .@/()+-]{1,40}?(?:\s*+(?:==|=>|:|=)\s*+|\s++)\(?v?\d++(?:\.\w++)++[^\s.]*+[^.]{0,60}                    # numpy: 1.17.3
        | [\w .-]{1,30}:\s*(?:None|N/A|\(none\)|True|False)                                                  # xlrd: None
        | (?:python|os|operating\ system|platform|machine|processor|kernel|browser|compiler|system|byteorder|LANG|LC_ALL|LOCALE
           |rustc|node|npm|go\ version|java|openjdk|host|binary|commit-\w+|release|LLVM\ version|executable|blas|cpu)\b[^.]{0,12}[:=(].*
        | Python\ \d+\.\d+\.\d+.* | \[?(?:GCC|Clang|MSC)\b.*
    )\s*$""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)


def _sorted_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield each relevant line with its part: prose, code or output."""
    is_fenced = is_about_machine = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        if not is_fenced and (heading := _heading(line)):
            is_about_machine = bool(_ABOUT_MACHINE.search(heading))
            if is_about_machine or _FORM.match(heading):
                continue
        if is_about_machine or any(
            pattern.match(line) for pattern in (_CHECK_BOX, _RULE, _TRACKER, _VERSION)
        ):
            continue
        if _OUTPUT_LINE.match(line):
            yield "output", line.strip()
        elif prompt := _PROMPT.match(line):
            yield "code", line[prompt.end() :]
        elif is_fenced or _CODE_LINE.match(line):
            yield "code", line
        else:
            yield "prose", line.strip()


_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>\S.*)|\*\*(?P<bold>[^*\n]{2,60})\*\*:?\s*$)")
_PLAIN_HEADING = re.compile(r"^\s*([A-Z][\w /]{2,40}):?\s*$")
_ABOUT_MACHINE = re.compile(
    r"\b(?:versions?|environments?|system|platform|operating|dependencies|installed|installation|packages|setup|pip list|pip freeze|conda"  # noqa: E501
    r"|show_versions|check ?list|self[- ]?checks?|software|machine)\b",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"""(?:(?:bug\ )?(?:report|summary|description|desc) | describe\ the\ (?:bug|issue|problem) | issue | problem | feature\ request
        | proposed\ (?:solution|fix|change)s? | (?:a\ )?minimal.*example | mcve | code(?:\ for\ reproduction|\ sample.*)?
        | (?:steps?|code|how|instructions)?[\ /\w]*to\ reproduce | reproduc\w+(?:\ steps)?
        | (?:actual|expected|current|observed|desired)(?:\ (?:outcome|behaviou?r|results?|output))?
        | what\ (?:happened|did\ you\ (?:do|expect|see)).* | what.*expected.* | anything\ else.* | additional\ (?:context|information|notes?)
        | relevant\ log\ output | screenshots? | logs? | context | configuration | command\ used | traceback | stack\ ?trace | details
        | notes? | error | motivation | alternatives.* | related\ issues.*)\W*$""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)


def _heading(line: str) -> str:
    """Return the text of a heading in any markup, or "". A heading without markup must be usual in forms."""
    if marked := _HEADING.match(line):
        return (marked["bold"] or marked["marked"].rstrip().rstrip("#")).strip(" :*")
    plain = _PLAIN_HEADING.match(line)
    heading = plain[1].strip() if plain else ""
    return heading if _FORM.match(heading) or _ABOUT_MACHINE.search(heading) else ""
