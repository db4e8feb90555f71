"""Copies of a tree that share its unchanged files, and indexes of copies that are not made from nothing."""

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
    """A copy of `source` whose files are hard links to its own, times included, but for the `changed` ones,
    which are new.

    Nothing may write into a file of such a copy, or the source changes with it. Where the file system has no
    hard links, files are copied. Raises FileExistsError where `target` is there.
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
    """Give `tree`, a copy of the tree whose index is in the data folder `source`, that index, in a data
    folder of its own.

    A daemon on `tree` then reads what differs in size or time, and nothing else. Raises UnavailableError
    where `source` has no index.
    """
    index = index_path(source)
    make_data_folder(data, with_model=False)
    copied_index(index.parents[2], data / "workspaces" / workspace_dir(tree).name)
