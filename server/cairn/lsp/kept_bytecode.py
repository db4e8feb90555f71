"""Keeps the bytecode of the methods that attrs writes, as Python keeps that of modules.

attrs writes each class's methods as source and compiles it at every start. For the 554 classes of lsprotocol and Cairn's
own that takes 150 of the 650 ms of processor time until an editor's first answer. Agents need no lsprotocol, and their
server would gain 30 of 830 ms, so it goes without.
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
"""Every start has another number there. Within a process each class has one, and no other use is made of it."""


@contextmanager
def kept_bytecode(name: str) -> Iterator[None]:
    """What attrs writes meanwhile is compiled only where no earlier start has compiled it under this name.

    A file that is damaged, or cannot be read or written, costs the time that it would have saved, and nothing else.
    """
    # Bytecode is that of one version of Python only.
    path = data_dir() / "bytecode" / f"{name}-{importlib.util.MAGIC_NUMBER.hex()}"
    known = _read(path)
    used: dict[bytes, CodeType] = {}

    def compiled(source: str, filename: str, mode: str) -> Any:
        key = _digest(f"{filename}\n{_HASH_SEED.sub('', source, count=1)}".encode())
        used[key] = known.get(key) or compile(source, filename, mode)
        return used[key]

    # The name that attrs's code finds before the built-in function; without this module it finds that.
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
        if _digest(body) == digest:  # marshal trusts what it reads
            kept: dict[bytes, CodeType] = marshal.loads(body)
            return kept
    except OSError as problem:
        logger.debug("%s is not used: %s", path, problem)
    return {}


def _write(path: Path, kept: dict[bytes, CodeType]) -> None:
    body = marshal.dumps(kept)
    made = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(_digest(body) + body)
        made.replace(path)
    except OSError as problem:
        logger.debug("%s is not kept: %s", path, problem)
        with suppress(OSError):
            made.unlink()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
