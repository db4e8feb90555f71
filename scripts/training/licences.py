"""Finds the licence of a repository from the texts of its licence files, not from its host's metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable

LICENCE_FILE = re.compile(
    r"(?:[\w-]+[-_.])?(?:licen[cs]e|copying|copyright|unlicense)(?:[-_.].*)?", re.IGNORECASE
)
"""Names of files that contain a licence."""

_PERMISSIVE = {
    "MIT": "permission is hereby granted, free of charge, to any person obtaining",
    "Apache-2.0": "apache license version 2.0",
    "BSD": "redistribution and use in source and binary forms",
    "ISC": "permission to use, copy, modify, and/or distribute this software for any purpose",
    "Zlib": "this software is provided 'as-is', without any express or implied warranty",
    "BSL-1.0": "boost software license - version 1.0",
    "PostgreSQL": (
        "permission to use, copy, modify, and distribute this software and its documentation for any purpose"
    ),
    "Unlicense": "this is free and unencumbered software released into the public domain",
}
"""A phrase of each licence that allows use and change without conditions on derived works."""

_OTHER = (
    "gnu general public license",
    "gnu lesser general public license",
    "gnu library general public license",
    "gnu affero general public license",
    "mozilla public license",
    "eclipse public license",
    "common development and distribution license",
    "business source license",
    "server side public license",
    "elastic license",
    "commons clause",
    "functional source license",
    "creative commons",
)
"""Names that a text must not have to count as permissive, even for a part of the repository alone."""


_LINE_END = re.compile(r"[\W_]*\n[\W_]*")
"""A line end with the comment or frame characters around a text."""
_QUOTE = re.compile(r"[“”‘’`\"]")


def licence_of(texts: Iterable[str]) -> str | None:
    """Return the permissive licences in `texts`, all licence files of a repository, joined by " AND ".

    Returns None if there is none, or if any text names a licence of another kind.
    """
    found: dict[str, None] = {}
    for text in texts:
        if names_other(text):
            return None
        words = _words(text)
        found.update(dict.fromkeys(name for name, phrase in _PERMISSIVE.items() if phrase in words))
    return " AND ".join(found) or None


def names_other(text: str) -> bool:
    """Return whether a licence file names a licence that is not permissive."""
    words = _words(text)
    return any(name in words for name in _OTHER)


def _words(text: str) -> str:
    return " ".join(_QUOTE.sub("'", _LINE_END.sub("\n", text)).lower().split())
