"""The columns of a segment: a few bytes per chunk, packed into a single value of the database."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray


@frozen(eq=False)
class SegmentColumns:
    """Arrays and lists with one entry per chunk of a segment, by ascending id."""

    ids: NDArray[np.int32]
    files: NDArray[np.int32]
    tokens: NDArray[np.uint16]
    """The lengths of the chunks in the keyword index, in tokens."""
    types: Sequence[str]
    languages: Sequence[str]

    def packed(self) -> bytes:
        types, type_codes = _coded(self.types)
        languages, language_codes = _coded(self.languages)
        head = json.dumps({"chunks": len(self.ids), "types": types, "languages": languages}).encode()
        # The differences between neighbouring ids are mostly 0 or 1, and compress to almost nothing.
        numbers = [
            np.diff(self.ids, prepend=0).astype("<i4"),
            np.diff(self.files, prepend=0).astype("<i4"),
            self.tokens.astype("<u2"),
            type_codes.astype("u1"),
            language_codes.astype("<u2"),
        ]
        return zlib.compress(
            b"".join([len(head).to_bytes(4, "little"), head, *(n.tobytes() for n in numbers)]), 1
        )

    @classmethod
    def unpack(cls, packed: bytes) -> SegmentColumns:
        data = zlib.decompress(packed)
        begin = 4 + int.from_bytes(data[:4], "little")
        head = json.loads(data[4:begin])
        many = head["chunks"]

        def column(dtype: str, at: int) -> NDArray[np.generic]:
            return np.frombuffer(data, dtype, many, begin + at * many)

        ids = np.cumsum(column("<i4", 0), dtype=np.int32)
        files = np.cumsum(column("<i4", 4), dtype=np.int32)
        types = np.array(head["types"] or [""], object)[column("u1", 10)]
        languages = np.array(head["languages"] or [""], object)[column("<u2", 11)]
        return cls(ids, files, column("<u2", 8).astype(np.uint16), types.tolist(), languages.tolist())


def _coded(values: Sequence[str]) -> tuple[list[str], NDArray[np.uint16]]:
    names = sorted(set(values))
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.array([numbers[value] for value in values], np.uint16)
