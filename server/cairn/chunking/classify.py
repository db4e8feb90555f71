"""Classify the content of a chunk by its language, its path and its words."""

from __future__ import annotations

import re

from cairn.languages.language import Category
from cairn.languages.registry import category
from cairn.protocol.chunk_types import ChunkType

# Languages that only describe interfaces.
_API_LANGUAGES = frozenset({"capnproto", "flatbuffers", "graphql", "http", "proto", "thrift"})
# Languages whose files list commands, and languages that fences declare for a command line or its output.
_CMD_LANGUAGES = frozenset({"just", "make"})
_CMD_FENCES = frozenset({"bash", "batch", "cmd", "console", "fish", "powershell", "zsh"})

_API_PATH = re.compile(r"(?:^|[/._-])(?:openapi|swagger|asyncapi)(?:[/._-]|$)", re.IGNORECASE)
_API_DOCUMENT = re.compile(r"^[ \t]*[\"']?(?:openapi|swagger|asyncapi)[\"']?\s*:", re.MULTILINE)
_ENDPOINT = re.compile(
    r"(?:^|[\s`(>*])(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)`?\s+`?(?:https?://[^\s/]+)?/[\w{:/]"
)

# This matches a prompt and a command at the beginning of a code block.
_PROMPT = re.compile(r"\A(?:[^\n]*\n)?\s*[$%] \S")


def file_type(path: str, language: str, text: str) -> ChunkType:
    """Return the type of a file of code, configuration or plain text."""
    if language in _API_LANGUAGES or _API_PATH.search(path):
        return ChunkType.API
    if language in _CMD_LANGUAGES:
        return ChunkType.CMD
    if category(language) is Category.CONFIG:
        return ChunkType.API if _API_DOCUMENT.search(text, 0, 500) else ChunkType.CONFIG
    return ChunkType.PROSE if language == "" or category(language) is Category.PROSE else ChunkType.CODE


def fence_type(language: str, text: str) -> ChunkType:
    """Return the type of a code fence by its declared language and its text."""
    if language in _API_LANGUAGES or (category(language) is Category.CONFIG and _API_DOCUMENT.search(text)):
        return ChunkType.API
    if language in _CMD_FENCES or _PROMPT.search(text):
        return ChunkType.CMD
    if category(language) is Category.PROSE:
        return ChunkType.PROSE
    return ChunkType.CONFIG if category(language) is Category.CONFIG else ChunkType.CODE


def names_endpoint(heading: str) -> bool:
    """Return whether a heading names an endpoint, such as `GET /users/{id}`."""
    return _ENDPOINT.search(heading) is not None
