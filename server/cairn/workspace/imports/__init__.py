"""What the files of a workspace import, and how many files import each one.

`import_specs` reads one file's text; `ImportGraph` needs what it returned for every file, and no text.
In between stand specs, strings such as `py:./http?web,abc`: a tag that names the way of resolving, and a path-like name.

- A name that begins with `./` or `../` is relative to the importing file, any other one is absolute in its language.
- `?` separates names that are modules of the one before it or, failing that, members of it.
- A tag after `=` declares what the file itself, or the folder of a manifest, is imported as.
"""

from __future__ import annotations

from cairn.workspace.imports.graph import ImportGraph
from cairn.workspace.imports.readers import import_specs

__all__ = ["ImportGraph", "import_specs"]
