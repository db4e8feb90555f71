"""Hides what other entries of settings contain, such as keys and tokens, where changes are shown.

Everything is hidden but keys and the values that Cairn writes itself, since no list of names of secrets is
complete.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence, Set
from urllib.parse import urlsplit

HIDDEN = "…"
_PARTS = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"?|'[^']*'?)(?P<key>\s*[:=])?"""  # a string, which may be a key
    r"""|(?P<comment>//|/\*|\#).*"""
)
"""Matches the strings and comments in a line of JSON or TOML, also those that continue in the next line."""
_KEY = re.compile(r"[\w.$@/ -]{0,80}")
_FLAG = re.compile(r"--?[A-Za-z][\w-]{0,40}")
_SEGMENT = re.compile(r"[A-Za-z._-]{0,15}|v[0-9]+")
"""Matches the parts of a URL's path that are shown. Tokens are longer, and have digits."""


def strings_in(value: object) -> Iterator[str]:
    """Yield the strings in a value of settings, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from strings_in(each)


def without_values(line: str, known: Set[str]) -> str:
    """Return a line of JSON or TOML with its comments and its strings hidden, except keys and `known`."""

    def shown(match: re.Match[str]) -> str:
        if match["comment"]:
            return f"{match['comment']} {HIDDEN}"
        string, key = match["string"], match["key"] or ""
        content = _content(string)
        if content == "" or content in known or (key and _KEY.fullmatch(content)):
            return match[0]
        return f"{string[0]}{HIDDEN}{string[0]}{key}"

    return _PARTS.sub(shown, line)


def _content(string: str) -> str:
    try:
        return str(json.loads(string))
    except ValueError:
        return string.strip("'\"")


def command_shown(words: Sequence[str]) -> str:
    """Return another server's command line: its program and its flags. Other arguments are hidden."""
    rest = (shlex.quote(word) if _FLAG.fullmatch(word) else HIDDEN for word in words[1:])
    return " ".join([shlex.quote(words[0]), *rest])


def own_command_shown(words: Sequence[str], known: Set[str]) -> str:
    """Return a command line that Cairn runs. In an argument of JSON, only keys and `known` are shown."""
    return shlex.join(without_values(word, known) if word.startswith("{") else word for word in words)


def url_shown(url: str) -> str:
    """Return a URL without its name and password, its query, and parts of its path that may be tokens."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    segments = [each if _SEGMENT.fullmatch(each) else HIDDEN for each in parts.path.split("/")]
    rest = f"?{HIDDEN}" if parts.query or parts.fragment else ""
    return f"{parts.scheme}://{host}{'/'.join(segments)}{rest}" if parts.scheme and host else HIDDEN
