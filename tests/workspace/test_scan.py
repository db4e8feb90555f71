"""Files of every encoding are read, and binaries are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.workspace.scan import read_text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain\n", "plain\n"),
        ("naïve 漢字\r\n".encode(), "naïve 漢字\r\n"),
        (b"\xef\xbb\xbfmarked", "marked"),
        ("sixteen".encode("utf-16"), "sixteen"),
        (b"caf\xe9 \xff\n", "café ÿ\n"),
        (b"", ""),
        (b"ELF\0\1\2", None),
    ],
)
def test_text_is_read_in_any_encoding_and_binaries_are_not(
    tmp_path: Path, data: bytes, text: str | None
) -> None:
    (tmp_path / "file").write_bytes(data)
    assert read_text(tmp_path / "file") == text
