"""Read stack traces in pasted text: the files, the functions and the message."""

from __future__ import annotations

import re

from attrs import frozen

from cairn.retrieval.mentions import normalised_path

_MAX_PLACES = 8
"""The maximum number of paths and names to search for. The innermost frames lead to the cause."""
_MAX_FRAMES = 32
"""The maximum number of frames kept, more than _MAX_PLACES because most frames may be of libraries."""

# Each pattern matches one line of a trace. Its groups are path and name.
_FRAMES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r'File "(?P<path>[^"\n]+)", line \d+(?:, in (?P<name>[\w.<>]+))?',  # Python
        r"\bat (?P<name>(?:async |new )?[\w$.<>\[\] ]{1,200}?) ?\((?:file://)?(?P<path>[^()\s]+?):\d+(?::\d+)?\)",  # JS, Java  # noqa: E501
        r"\bat (?P<name>[\w.<>`\[\],+ ]{1,200}\([^)\n]{0,300}\)) in (?P<path>[^\n]{1,300}?):line \d+",  # C#
        r"(?:\bat |--> |panicked at )(?:file://)?(?P<path>[\w.~/\\:-]{0,300}[\w-]\.\w{1,20}):\d+(?::\d+)?",  # JS, Rust  # noqa: E501
        r"(?<![\w.~/\\-])(?P<path>[\w.~/\\-]{1,300}\.rb):\d+:in [`'](?P<name>[^'\n]+)'",  # Ruby
        r"#\d+ (?P<path>/[^\s(]+)\(\d+\): (?P<name>[\w\\:>-]+)\([^\n]*",  # PHP
        r"^\t(?P<path>/[^\s:]+\.go):\d+(?: \+0x[0-9a-f]+)?",  # Go
        r"^#\d+ +(?:0x[0-9a-f]+ in )?(?P<name>[\w:~<>]{1,200})[^\n]{0,300}? (?:at )?(?P<path>[\w.~/\\-]{1,300}\.\w{1,4}):\d+(?::\d+)?",  # gdb, ASan  # noqa: E501
        r"^ {0,8}(?P<path>[\w.~/\\-]{1,300}\.(?:c|cc|cpp|cxx|h|hpp|go|py|rs|ts|tsx|js|java)):\d+(?::\d+)?: (?:in (?P<name>\w+)$)?",  # gcc, go test, pytest  # noqa: E501
    )
)
_NOISE = re.compile(
    r"^[^\S\n]*+(?:Traceback \(most recent call last\):|goroutine \d+ \[[^\]]*\]:|Caused by:|stack backtrace:|\.\.\. \d+ more"  # noqa: E501
    r"|\[?Previous exception[^\n]*|File\b\s*$|During handling of the above exception[^\n]*|[\^~\s]+$)",
    re.MULTILINE,
)
_SOURCE_LINE = re.compile(
    r'(File "[^"\n]+", line \d+[^\n]*\n)[ \t]{4,}(?!File "|\w+(?:Error|Exception))[^\n]*'
)
_TYPE_PARAMETERS = re.compile(r"\[[^\]\n]*\]|`\d+")
_PLACEHOLDER = re.compile(r"<[^>]*>|\banonymous\b|^(?:async|new) ")


@frozen
class Frame:
    path: str
    """The path as `normalised_path` returns it."""
    name: str = ""
    """The name of the function; "" if unknown."""


@frozen
class Trace:
    """A stack trace with the innermost frame first, as far as its format tells."""

    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    """The frames, of which there may be more than in `paths` and `names`."""
    message: str = ""


def read_trace(text: str) -> Trace | None:
    """Return the trace in `text`; None if `text` has no line of a trace."""
    frames = [match for pattern in _FRAMES for match in pattern.finditer(text)]
    if not frames:
        return None
    frames.sort(key=lambda match: match.start())
    if 'File "' in text:  # Python prints the innermost frame last.
        frames.reverse()
    read = dict.fromkeys(
        Frame(normalised_path(frame["path"]), _own_name(frame.groupdict().get("name") or ""))
        for frame in frames
    )
    paths = dict.fromkeys(frame.path for frame in read)
    own = dict.fromkeys(frame.name for frame in read if frame.name)
    rest = _SOURCE_LINE.sub(r"\1", text)
    for pattern in _FRAMES:
        rest = pattern.sub(" ", rest)
    message = "\n".join(line for line in map(str.strip, _NOISE.sub("", rest).splitlines()) if line)
    return Trace(
        tuple(paths)[:_MAX_PLACES],
        tuple(own)[:_MAX_PLACES],
        message=message,
        frames=tuple(read)[:_MAX_FRAMES],
    )


def _own_name(name: str) -> str:
    """Return the name without parameters, type parameters and placeholders."""
    return _PLACEHOLDER.sub("", _TYPE_PARAMETERS.sub("", name.partition("(")[0])).strip(". ")
