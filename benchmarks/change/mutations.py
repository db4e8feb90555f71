"""Makes changes that leave uses of a definition behind, and changes that leave none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import starmap
from pathlib import PurePosixPath

from attrs import define, frozen
from references.model import CallerSet, Sampled, Site

from cairn.chunking.outline import CALLABLE
from cairn.chunking.references.symbol_table import Definition
from change.asking import Repository
from change.edits import Edited, found_in, renamed, renamed_at, table_of, without, word

_SHORTEST = 4
"""A shorter name is also a word of texts."""


@frozen
class Mutation:
    """A change of one definition."""

    kind: str
    sampled: Sampled
    after: Mapping[str, str | None]
    uses: frozenset[Site]
    """The places before the change that still use the old definition after it; empty for a change that leaves
    none."""
    removed: range
    """The lines that the change removes from the file of the definition."""

    def now(self, site: Site) -> Site:
        """Return the place of a line after the change."""
        after = site.path == self.sampled.path and site.line >= self.removed.stop
        return Site(site.path, site.line - len(self.removed)) if after else site


@define
class Source:
    """The definitions of a set, with the texts of the repository."""

    truth: CallerSet
    scratch: Repository

    @cached_property
    def texts(self) -> dict[str, str]:
        read = ((path, self.scratch.text(path)) for path in self.scratch.paths())
        return {path: text for path, text in read if text is not None}

    @cached_property
    def defined(self) -> dict[str, list[tuple[str, int]]]:
        """The places that define each name."""
        found: dict[str, list[tuple[str, int]]] = {}
        for path, text in self.texts.items():
            table = table_of(path, text) if self._is_code(path) else None
            for each in table.definitions if table else ():
                found.setdefault(each.name, []).append((path, each.line))
        return found

    def _is_code(self, path: str) -> bool:
        return path in self._covered or PurePosixPath(path).suffix in self._endings

    @cached_property
    def _covered(self) -> frozenset[str]:
        return frozenset(self.truth.covered)

    @cached_property
    def _endings(self) -> frozenset[str]:
        return frozenset(PurePosixPath(path).suffix for path in self.truth.covered)

    def lines_with(self, name: str) -> set[Site]:
        """Return the lines of all files with a word."""
        pattern, found = word(name), set()
        for path, text in self.texts.items():
            if name in text:
                found |= {Site(path, n) for n, line in enumerate(text.split("\n")) if pattern.search(line)}
        return found

    def mutations(self) -> dict[str, Iterator[Mutation]]:
        """Return the changes of each kind, made when they are taken."""
        # Servers count the uses of what implements a method of an interface as uses of that method.
        every = [
            (each, found)
            for each in self.truth.functions
            if (found := self._lines(each)) and not self._is_in_interface(found, each)
        ]
        used = [(each, found, uses) for each, found in every if (uses := self._uses(each, found))]
        unused = [(each, found) for each, found in every if not each.callers]
        makers: dict[str, tuple[Callable[..., Mutation | None], Sequence[tuple[object, ...]]]] = {
            "removed": (self._removed, used),
            "renamed": (self._renamed, used),
            "renamed everywhere": (self._renamed_everywhere, used),
            "replaced": (self._replaced, used),
            "moved": (self._moved, used),
            "unused": (self._unused, unused),
            "unused, with namesakes": (self._with_namesakes, unused),
            "overload": (self._overload, every),
        }
        return {kind: filter(None, starmap(make, rows)) for kind, (make, rows) in makers.items()}

    def _lines(self, sampled: Sampled) -> Edited | None:
        text = self.texts.get(sampled.path)
        return found_in(sampled.path, text, sampled) if text is not None else None

    def _is_in_interface(self, found: Edited, sampled: Sampled) -> bool:
        line = self._line(Site(sampled.path, found.definition.start_line))
        return sampled.path.endswith(".go") and sampled.kind == "method" and not line.startswith("func")

    def _uses(self, sampled: Sampled, found: Edited) -> frozenset[Site]:
        own = range(found.start, found.end)
        return frozenset(e for e in sampled.callers if not (e.path == sampled.path and e.line in own))

    def _without(self, sampled: Sampled, found: Edited) -> dict[str, str | None]:
        return {sampled.path: without(self.texts[sampled.path], found)}

    # --- changes that leave uses ----------------------------------------------------------------------

    def _removed(self, sampled: Sampled, found: Edited, uses: frozenset[Site]) -> Mutation | None:
        if found.definition.is_declaration or self._same(sampled, found):
            return None
        lines = range(found.start, found.end)
        return Mutation("removed", sampled, self._without(sampled, found), uses, lines)

    def _renamed(self, sampled: Sampled, found: Edited, uses: frozenset[Site]) -> Mutation | None:
        head = self._line(Site(sampled.path, found.definition.start_line))
        # The files that import a module's default give it a name of their own.
        special = sampled.name.startswith("__") or _constructs(sampled) or _is_default(head)
        # A file that imports it under another name has only that line to change.
        uses = frozenset(site for site in uses if word(sampled.name).search(self._line(site)))
        if special or not uses or found.definition.is_declaration or self._same(sampled, found):
            return None
        text = renamed_at(self.texts[sampled.path], sampled, _other_name(sampled.name))
        return Mutation("renamed", sampled, {sampled.path: text}, uses, range(0))

    def _line(self, site: Site) -> str:
        lines = self.texts.get(site.path, "").split("\n")
        return lines[site.line] if site.line < len(lines) else ""

    def _same(self, sampled: Sampled, found: Edited) -> list[Definition]:
        """Return the other definitions in the file with the same name and owner: overloads, prototypes."""
        table = table_of(sampled.path, self.texts[sampled.path])
        return [
            each
            for each in (table.definitions if table else ())
            if (each.name, each.owner) == (found.definition.name, found.definition.owner)
            and each.line != sampled.line
        ]

    # --- changes that leave none ----------------------------------------------------------------------

    def _is_unique(self, sampled: Sampled) -> bool:
        return len(sampled.name) >= _SHORTEST and len(self.defined.get(sampled.name, ())) == 1

    def _renamed_everywhere(self, sampled: Sampled, found: Edited, uses: frozenset[Site]) -> Mutation | None:
        if not self._is_unique(sampled):
            return None
        new = _other_name(sampled.name)
        paths = {site.path for site in self.lines_with(sampled.name)}
        after = {path: renamed(self.texts[path], sampled.name, new) for path in sorted(paths)}
        return Mutation("renamed everywhere", sampled, after, frozenset(), range(0))

    def _replaced(self, sampled: Sampled, found: Edited, uses: frozenset[Site]) -> Mutation | None:
        """Remove a definition, and let all its uses use another one of its file."""
        if not self._is_unique(sampled) or found.definition.kind not in CALLABLE:
            return None
        table = table_of(sampled.path, self.texts[sampled.path])
        other = next(
            (
                each.name
                for each in (table.definitions if table else ())
                if (each.kind, each.owner) == (found.definition.kind, found.definition.owner)
                and each.name != sampled.name
                and len(self.defined[each.name]) == 1
            ),
            None,
        )
        if other is None:
            return None
        after = self._without(sampled, found)
        for path in sorted({site.path for site in self.lines_with(sampled.name)}):
            after[path] = renamed(after.get(path) or self.texts[path], sampled.name, other)
        return Mutation("replaced", sampled, after, frozenset(), range(found.start, found.end))

    def _moved(self, sampled: Sampled, found: Edited, uses: frozenset[Site]) -> Mutation | None:
        """Move a definition at the top of a file into a new file, from which the old one imports it."""
        text, path = self.texts[sampled.path], PurePosixPath(sampled.path)
        lines = text.split("\n")
        definition = found.definition
        start = lines[definition.start_line]
        # With `module.exports = class …`, the file would not export it any more.
        if definition.owner or definition.is_private or start[:1].isspace() or "exports" in start:
            return None
        moved = "\n".join(lines[found.start : found.end])
        new = str(path.with_name(f"{path.stem}_moved{path.suffix}"))
        rest, name = without(text, found), sampled.name
        if path.suffix == ".py":
            rest = _after_header(rest, f"from .{path.stem}_moved import {name}")
        elif path.suffix == ".go":
            if path.name.endswith("_test.go"):
                return None
            package = re.search(r"^package \w+", text, re.MULTILINE)
            moved = f"{package[0] if package else ''}\n\n{moved}"
        elif path.suffix in (".c", ".cc", ".cpp"):
            if definition.kind not in CALLABLE:
                return None
        elif path.suffix in (".ts", ".mts", ".tsx") and moved.count("export "):
            given = "type " if sampled.kind == "interface" else ""
            imported = f"{given}{{ {name} }} from './{path.stem}_moved'"
            rest = f"import {imported}\nexport {imported}\n{rest}"
        elif path.suffix in (".js", ".cjs") and "require(" in text:
            rest = f"const {{ {name} }} = require('./{path.stem}_moved')\n{rest}"
            moved += f"\nmodule.exports = {{ {name} }}"
        else:
            return None
        after = {sampled.path: rest, new: f"{moved}\n"}
        return Mutation("moved", sampled, after, frozenset(), range(found.start, found.end))

    def _unused(self, sampled: Sampled, found: Edited) -> Mutation | None:
        own = {Site(sampled.path, line) for line in range(found.start, found.end)}
        if not self._is_unique(sampled) or self.lines_with(sampled.name) - own:
            return None
        return self._without_uses("unused", sampled, found)

    def _with_namesakes(self, sampled: Sampled, found: Edited) -> Mutation | None:
        if len(self.defined.get(sampled.name, ())) < 2:
            return None
        return self._without_uses("unused, with namesakes", sampled, found)

    def _overload(self, sampled: Sampled, found: Edited) -> Mutation | None:
        if all(each.is_declaration for each in self._same(sampled, found)):
            return None
        return self._without_uses("overload", sampled, found)

    def _without_uses(self, kind: str, sampled: Sampled, found: Edited) -> Mutation:
        lines = range(found.start, found.end)
        return Mutation(kind, sampled, self._without(sampled, found), frozenset(), lines)


def _after_header(text: str, line: str) -> str:
    """Return Python code with an import after the docstring and the imports from `__future__`."""
    lines = text.split("\n")
    for number, each in enumerate(lines):
        if each.startswith(("import ", "from ")) and "__future__" not in each:
            return "\n".join([*lines[:number], line, *lines[number:]])
    return f"{line}\n{text}"


def _constructs(sampled: Sampled) -> bool:
    return sampled.kind == "constructor" or sampled.name in ("constructor", "init", "main")


def _is_default(head: str) -> bool:
    return "export default" in head or "module.exports =" in head


def _other_name(name: str) -> str:
    """Return a new name in the style of the old one."""
    return f"{name}_again" if "_" in name or name.islower() else f"{name}Again"
