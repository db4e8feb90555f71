"""An on-disk cache of the bytecode of attrs' methods, like Python's `__pycache__` of modules.

At every start, attrs generates the source of each class's methods and compiles it. For the 554 classes of
lsprotocol and Cairn this takes 150 of the 650 ms of CPU time before an editor gets its first answer. The MCP
server does not use the cache: it does not need lsprotocol, and would save only 30 of 830 ms.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import marshal
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

import attr._make

from cairn.paths import data_dir, write_private

logger = logging.getLogger(__name__)

_DIGEST_BYTES = 16
_HASH_SEED = re.compile(r"(?<=return hash\(\(\n) +-?\d+,")
"""The seed in a generated `__hash__`. It differs at every start; a constant would do as well."""


@contextmanager
def cached_bytecode(name: str) -> Iterator[None]:
    """Within the context, load the bytecode of attrs' methods from the cache file `name`. Write the file
    afterwards if methods were missing.

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

    # A global `compile` in attrs' module shadows the built-in function.
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
    try:
        write_private(path, _digest(body) + body)
    except OSError as problem:
        logger.debug("%s cannot be written: %s", path, problem)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
