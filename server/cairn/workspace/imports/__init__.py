"""The imports of a workspace's files, and the number of files that import each one.

`import_specs` reads specs from one file's text, and `ImportGraph` resolves the specs of all files. A spec is
a string such as `py:./http?web,abc`: a tag that selects the resolver, and a path-like name.

- A name that begins with `./` or `../` is relative to the importing file, others are absolute in a language.
- The names after `?` are modules inside the one before it or, if there are none, members of it.
- A tag after `=` declares the name by which the file itself, or a manifest's folder, is imported.
"""

from __future__ import annotations

from cairn.workspace.imports.graph import ImportGraph
from cairn.workspace.imports.readers import import_specs

__all__ = ["ImportGraph", "import_specs"]
