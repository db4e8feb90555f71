"""Code that re-exports a name: that is what a name leads to whose definition is elsewhere."""

from __future__ import annotations

import re

_FORMS = (
    r"^[ \t]*pub(?:\([^)]*\))?\s+use\s[^;]*\b{name}\b",  # Rust
    r"^[ \t]*export\s+(?:type\s+)?\{{[^}}]*\b{name}\b[^}}]*\}}",  # JavaScript, TypeScript
    r"^[ \t]*using\s+[\w:]*::{name}\s*;",  # C++
)
_FROM_A_PACKAGE = r"^from\s+\S+\s+import\s+(?:\([^)]*|[^\n(]*)\b{name}\b"
"""Python, in what a package is imported by."""


def reexports(name: str, path: str, text: str) -> bool:
    """Whether `text`, of the file at `path`, re-exports `name`."""
    forms = (*_FORMS, _FROM_A_PACKAGE) if path.endswith("__init__.py") else _FORMS
    return any(re.search(form.format(name=re.escape(name)), text, re.MULTILINE) for form in forms)
