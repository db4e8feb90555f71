"""Names that the settings of TypeScript give to folders: `"@app/*": ["./src/*"]` in `tsconfig.json`."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator

from cairn.languages.imports import Module, Places, compiled

FILES = ("tsconfig.json", "jsconfig.json", "tsconfig.base.json", "tsconfig.app.json")
_COMMENT = r"(\"(?:[^\"\\\n]|\\.)*+\")|//[^\n]*+|/\*(?s:.*?)\*/"
_LAST_COMMA = r",(?=\s*[}\]])"


def read(text: str) -> Iterator[Module]:
    """Yield `=alias:@app/*=src/*` for each alias, relative to the folder of the settings."""
    plain = compiled(_LAST_COMMA).sub("", compiled(_COMMENT).sub(r"\1", text))
    try:
        options = json.loads(plain)["compilerOptions"]
        base, paths = options.get("baseUrl", "."), options.get("paths", {})
        found = [(name, each) for name, targets in paths.items() for each in targets]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return  # These are other settings, or a file that is being written.
    for name, target in found:
        if isinstance(base, str) and isinstance(target, str):
            yield Module("=alias", f"{name}={posixpath.normpath(posixpath.join(base, target))}")


def targets(places: Places, folder: str, name: str) -> Iterator[str]:
    """Yield the paths that a name may mean for a file in a folder, those of the nearest settings first."""
    while places.aliases:
        for alias in places.aliases.get(folder, ()):
            pattern, _, target = alias.partition("=")
            start, star, end = pattern.partition("*")
            if name == pattern or (star and name.startswith(start) and name.endswith(end)):
                rest = name[len(start) : len(name) - len(end)] if star else ""
                yield posixpath.normpath(posixpath.join(folder, target.replace("*", rest)))
        if not folder:
            return
        folder = folder.rpartition("/")[0]
