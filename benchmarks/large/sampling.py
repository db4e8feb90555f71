"""Draws items from a tree evenly over its folders, the same in every run, and assigns files to halves."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from large.sets import KEPT, TUNED

Item = TypeVar("Item")

_DEPTH = 2
"""The path parts that name a folder (`drivers/net`, `fs/ext4`); in Java the module adds two more."""
_JAVA_DEPTH = 4


def folder_of(path: str) -> str:
    """Return the folder that stands for the subject of a file: `drivers/net` of the kernel,
    `java.base/java/util` of the JDK."""
    depth = _JAVA_DEPTH if path.endswith(".java") else _DEPTH
    return "/".join(path.split("/")[:-1][:depth])


def half_of(path: str) -> str:
    """Return `tuned` or `kept`, by a hash of the file's folder, so that the halves have different
    subjects."""
    return (TUNED, KEPT)[hashlib.sha256(folder_of(path).encode()).digest()[0] % 2]


def evenly(
    items: Iterable[Item], path: Callable[[Item], str], count: int, chance: random.Random
) -> list[Item]:
    """Draw `count` of the items, or all if there are fewer: a random item from each folder in turn.

    If all items were drawn alike, most would be register names of a few graphics drivers.
    """
    by_folder: defaultdict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_folder[folder_of(path(item))].append(item)
    for found in by_folder.values():
        chance.shuffle(found)
    drawn: list[Item] = []
    while by_folder and len(drawn) < count:
        for folder in _shuffled(sorted(by_folder), chance):
            drawn.append(by_folder[folder].pop())
            if not by_folder[folder]:
                del by_folder[folder]
    return drawn[:count]


def _shuffled(values: Sequence[str], chance: random.Random) -> list[str]:
    shuffled = list(values)
    chance.shuffle(shuffled)
    return shuffled
