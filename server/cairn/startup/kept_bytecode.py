"""Keeps the bytecode of the methods that attrs writes, as Python keeps that of modules.

attrs writes each class's methods as source and compiles it, at every start. For the 554 classes of lsprotocol
that takes 0.18 of the 0.33 s of their import, for Cairn's own 0.03, which whoever opens an unchanged workspace
waits for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import marshal
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

import attr._make

from cairn.paths import data_dir

logger = logging.getLogger(__name__)

_DIGEST_BYTES = 16


# Every start has another number there. Within a process each class has one, and no other use is made of it.
_HASH_SEED = re.compile(r"(?<=return hash\(\(\n) +-?\d+,")


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
    except (OSError, ValueError, EOFError, TypeError) as problem:
        logger.debug("%s is not used: %s", path, problem)
    return {}


def _write(path: Path, kept: dict[bytes, CodeType]) -> None:
    body = marshal.dumps(kept)
    made = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(body) + body)
        Path(made).replace(path)
    except OSError as problem:
        logger.debug("%s is not kept: %s", path, problem)
        if made is not None:
            Path(made).unlink(missing_ok=True)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()
