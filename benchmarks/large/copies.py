"""Makes copies of a tree that share its unchanged files, and indexes of copies from the tree's index."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from engine.index_file import index_path
from engine.place import make_data_folder
from retrieval.in_process import copied_index

from cairn.paths import workspace_dir


def linked_copy(source: Path, target: Path, changed: Mapping[str, bytes]) -> None:
    """Make a copy of `source` from hard links, with their times, and from the content of the `changed` files.

    Never write into a file of such a copy, because the source changes with it. Without hard links in the file
    system, files are copied. Raises FileExistsError if `target` exists.
    """
    target.mkdir(parents=True)
    for folder, folders, files in os.walk(source):
        here = target / Path(folder).relative_to(source)
        for name in folders:
            if not (Path(folder) / name).is_symlink():
                (here / name).mkdir()
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*links, *files):
            file = Path(folder) / name
            content = changed.get(file.relative_to(source).as_posix())
            if content is not None:
                (here / name).write_bytes(content)
            else:
                _link(file, here / name)


def _link(file: Path, copy: Path) -> None:
    if file.is_symlink():
        copy.symlink_to(file.readlink())
        return
    try:
        os.link(file, copy)
    except OSError:
        shutil.copy2(file, copy)


def take_index(source: Path, tree: Path, data: Path) -> None:
    """Copy the index in the data folder `source` for `tree`, a copy of its tree, and return the data folder.

    A daemon on `tree` then reads only files that differ in size or time. Raises UnavailableError if `source`
    has no index.
    """
    index = index_path(source)
    make_data_folder(data)
    copied_index(index.parents[2], data / "workspaces" / workspace_dir(tree).name)
