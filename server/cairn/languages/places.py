"""Find the paths of a workspace by their ends, or by the names that files declare."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

_CANDIDATES = 200
"""If more paths end with a name, it counts as ambiguous. This limits the work."""

_COMMON = frozenset({"common", "commonMain"})
"""Folders with declarations that several platforms share."""


def _anywhere(_: str) -> bool:
    return True


class Places:
    """An index of paths, which are relative to the workspace, with `/`; the workspace itself is ""."""

    def __init__(self, imports: Mapping[str, Sequence[str]]) -> None:
        self.paths: Collection[str] = imports.keys()
        self.declared: dict[str, list[str]] = defaultdict(list)
        self.in_folder: dict[str, list[str]] = defaultdict(list)
        self.entries: dict[str, list[str]] = defaultdict(list)
        """The files that the manifest in a folder names as entries of its package, by folder."""
        self.types = cache(self._types)
        self.crate_root = cache(self._crate_root)
        self._ending_with = cache(self._find_ending_with)
        self._manifest = cache(lambda name, folder: self.nearest(self.declared[name], folder))
        self._by_end: dict[str, list[str]] = defaultdict(list)
        for path, specs in imports.items():
            rest, _, name = path.rpartition("/")
            self.in_folder[rest].append(path)
            self._by_end[name].append(path)
            if rest:
                self._by_end[f"{rest.rpartition('/')[2]}/{name}"].append(path)
            for spec in specs:
                if spec.startswith("=entry:"):
                    self.entries[rest].append(spec.removeprefix("=entry:"))
                elif spec.startswith("="):
                    self.declared[spec[1:]].append(path)

    def relative(self, folder: str, name: str, endings: Iterable[str]) -> str | None:
        """Return the file that `name` means from `folder`, with the first ending for which a file exists."""
        joined = f"{folder}/{name}" if folder else name
        if "./" in joined or joined.endswith(".") or "//" in joined:
            joined = posixpath.normpath(joined).removeprefix(".")
        paths = (joined + ending if joined else ending.lstrip("/") for ending in endings)
        return next((path for path in paths if path in self.paths), None)

    def absolute(
        self, folder: str, name: str, endings: Sequence[str], is_root: Callable[[str], bool] = _anywhere
    ) -> str | None:
        """Return the file nearest to `folder` whose path ends with `name` and an ending, below a root."""
        return self.nearest(self._ending_with(name, endings, is_root), folder)

    def is_plain_folder(self, folder: str) -> bool:
        """Return whether a folder is not a Python package. Packages are part of names: `json` is not
        `flask/json`."""
        return (f"{folder}/__init__.py" if folder else "__init__.py") not in self.paths

    def _find_ending_with(
        self, name: str, endings: Sequence[str], is_root: Callable[[str], bool]
    ) -> Sequence[str]:
        """Return the candidates of `absolute`, cached because thousands of files import the same names."""
        name = posixpath.normpath(name)
        for ending in endings:
            end = name + ending
            candidates = self._by_end.get("/".join(end.rsplit("/", 2)[-2:]), ())
            if len(candidates) > _CANDIDATES:
                continue
            fitting = [
                path
                for path in candidates
                if (path == end or path.endswith("/" + end)) and is_root(path[: -len(end)].rstrip("/"))
            ]
            if fitting:
                return fitting
        return ()

    def _types(self, namespace: str) -> Mapping[str, Sequence[str]]:
        """Return the files that declare `namespace` (`tag:name`). The keys are file names without ending."""
        files: dict[str, list[str]] = {}
        for path in self.declared.get(namespace, ()):
            files.setdefault(posixpath.splitext(posixpath.basename(path))[0], []).append(path)
        return files

    def file_of(self, namespace: str, name: str, folder: str) -> str | None:
        """Return the nearest file with the name of a type of the namespace."""
        return self.nearest(self.types(namespace).get(name, ()), folder)

    def _crate_root(self, folder: str) -> str | None:
        """Return the nearest folder at or above `folder` with the root module of a Rust crate."""
        here = f"{folder}/" if folder else ""
        if f"{here}lib.rs" in self.paths or f"{here}main.rs" in self.paths:
            return folder
        return self.crate_root(folder.rpartition("/")[0]) if folder else None

    def folder_of(self, tag: str, name: str, folder: str) -> tuple[str, str] | None:
        """Return the folder whose manifest declares the longest part of `name`, and the rest of the name."""
        part, rest = name, ""
        while part:
            if f"{tag}:{part}" in self.declared:
                manifest = self._manifest(f"{tag}:{part}", folder)
                return (posixpath.dirname(manifest), rest) if manifest is not None else None
            part, _, last = part.rpartition("/")
            rest = f"{last}/{rest}" if rest else last
        return None

    def nearest(self, paths: Sequence[str], folder: str) -> str | None:
        """Return the least deep path of those that share most folders with `folder`; None for a tie."""
        if len(paths) < 2:
            return paths[0] if paths else None
        here = folder.split("/") if folder else []

        def distance(path: str) -> tuple[int, int, bool]:
            there = path.split("/")[:-1]
            return -len(posixpath.commonprefix([here, there])), len(there), _COMMON.isdisjoint(there)

        ranked = sorted((distance(path), path) for path in paths)
        return ranked[0][1] if ranked[0][0] != ranked[1][0] else None
