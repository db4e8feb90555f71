"""A process that divides source code into tokens with Pygments, which knows 500 languages and is installed
for rich. `highlighting` starts it, and kills it if a text takes too long.

A process is needed because some of Pygments' patterns take hours for a few kilobytes, and a match can neither
be interrupted nor let other threads run.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import pickle
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

from cairn.startup.child_process import send, set_up_child_process
from cairn.web.highlighting import Text, Token

_ALIASES = {
    "csharp": "csharp",
    "objc": "objective-c",
    "jsx": "jsx",
    "tsx": "tsx",
    "vimdoc": "text",
    "proto": "protobuf",
    "requirements": "text",
    "gitignore": "text",
}
"""Pygments' names of languages by Cairn's names, where they differ."""
_COLOURED = re.compile(r"k.?|c[^s].?|c|s.?|m.?|g[ehsu]|n[abcdefot]|bp|fm|il|ld|dl|ow")
"""The classes that have a colour in base.css. Half of all tokens, such as names, have none."""
_BATCH = 200
"""The number of tokens that are sent together."""
_GRACE_SECONDS = 1.0
"""How much longer than allowed this process works before it ends itself. That matters only if the server has
been killed."""


def serve() -> None:
    """Answer each pickled text and its time with pickled lists of tokens and None, until the input ends. The
    first pickle sent is True, once everything is imported."""
    requests, answers = set_up_child_process()
    with contextlib.suppress(EOFError, OSError):
        send(answers, True)
        while True:
            text, seconds = pickle.load(requests)
            _limit(seconds + _GRACE_SECONDS)
            tokens = _tokens(text)
            while batch := list(itertools.islice(tokens, _BATCH)):
                send(answers, batch)
            send(answers, None)
            _limit(0)
    os._exit(0)  # an ordinary exit would flush a pipe that may be closed


def _limit(seconds: float) -> None:
    """Let the system end this process after so many seconds of work, or, with 0, never. Windows cannot."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _tokens(text: Text) -> Iterator[Token]:
    """Yield the tokens of the first lines, as far as they are the text."""
    at = lines = 0
    # `get_tokens` would strip lines and expand tabs.
    for _, kind, value in _lexer(text.language, text.name).get_tokens_unprocessed(text.content):
        if not text.content.startswith(value, at):
            return
        if value:
            yield _class(kind), len(value)
        at += len(value)
        lines += value.count("\n")
        if text.most is not None and lines >= text.most:
            return


@functools.lru_cache(256)
def _lexer(language: str, name: str) -> Lexer:
    with suppress(ClassNotFound):
        return get_lexer_by_name(_ALIASES.get(language, language))
    with suppress(ClassNotFound):
        return get_lexer_for_filename(name)
    return TextLexer()


@functools.lru_cache(1024)
def _class(kind: _TokenType) -> str:
    """Return the CSS class of a kind of token or its nearest ancestor; "" for a class without a colour."""
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return name if _COLOURED.fullmatch(name) else ""
