"""A cache on disk of the bytecode of the methods that attrs generates, like Python's cache of modules'
bytecode.

attrs generates each class's methods as source and compiles it at every start. For lsprotocol's and Cairn's
554 classes this takes 150 of the 650 ms of processor time until an editor's first answer. The server of
agents does not use the cache, since it does not need lsprotocol and would save only 30 of 830 ms.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import marshal
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

import attr._make

from cairn.paths import data_dir

logger = logging.getLogger(__name__)

_DIGEST_BYTES = 16
_HASH_SEED = re.compile(r"(?<=return hash\(\(\n) +-?\d+,")
"""The number in a generated `__hash__`. It differs at every start, but need not."""


@contextmanager
def cached_bytecode(name: str) -> Iterator[None]:
    """Within the context, take the bytecode of attrs' methods from the cache file `name`, and write it if
    needed.

    If the file is damaged, or cannot be read or written, the methods are compiled as usual.
    """
    # Each version of Python has its own bytecode.
    path = data_dir() / "bytecode" / f"{name}-{importlib.util.MAGIC_NUMBER.hex()}"
    known = _read(path)
    used: dict[bytes, CodeType] = {}

    def compiled(source: str, filename: str, mode: str) -> Any:
        key = _digest(f"{filename}\n{_HASH_SEED.sub('', source, count=1)}".encode())
        used[key] = known.get(key) or compile(source, filename, mode)
        return used[key]

    # A global name of attrs' module shadows the built-in function.
    vars(attr._make)["compile"] = compiled
    try:
        yield
    finally:
        del vars(attr._make)["compile"]
    if not used.keys() <= known.keys():
        _write(path, used)


def _read(path: Path) -> dict[bytes, CodeType]:
    try:
        data = path.read_bytes()
        digest, body = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if _digest(body) == digest:  # Damaged data can crash marshal.
            cached: dict[bytes, CodeType] = marshal.loads(body)
            return cached
    except OSError as problem:
        logger.debug("%s is not used: %s", path, problem)
    return {}


def _write(path: Path, cached: dict[bytes, CodeType]) -> None:
    body = marshal.dumps(cached)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(_digest(body) + body)
        fresh.replace(path)
    except OSError as problem:
        logger.debug("%s cannot be written: %s", path, problem)
        with suppress(OSError):
            fresh.unlink()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
