"""Text with NULs and UTF-16 without a mark are text; what is binary stays out."""

from __future__ import annotations

import random
import struct
import zlib

import pytest

from cairn.text.decoding import Decoded, decoded, without_nul

CODE = "def moor_before():\n    return 1\n\n\nMARK = 'x'\n\n\ndef moor_after():\n    return 2\n"
SYMBOL = "\N{SYMBOL FOR NULL}"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (CODE.replace("x", "\0").encode(), CODE.replace("x", SYMBOL)),
        (CODE.replace("x", "\0\1\2").encode(), CODE.replace("x", f"{SYMBOL}\1\2")),
        (b"A='\0'\n", f"A='{SYMBOL}'\n"),
        ("größe = 1\nx = '\0'\n".encode("latin-1"), f"größe = 1\nx = '{SYMBOL}'\n"),
        ("// 渡し船を係留する\nc = '\0';\n".encode("cp932"), f"// 渡し船を係留する\nc = '{SYMBOL}';\n"),
        (CODE.encode() + b"\0", CODE),
        (CODE.encode() + bytes(4_000), CODE),
        (CODE.encode() + bytes(300) + CODE.encode(), CODE + SYMBOL * 300 + CODE),
        (b"\xef\xbb\xbfx = '\0'\n", f"x = '{SYMBOL}'\n"),
        (CODE.encode() * 200 + bytes(9), CODE * 200),
    ],
    ids=[
        "string", "controls", "short", "Latin-1", "Shift-JIS", "end", "padding", "block", "mark",
        "after the head",
    ],
)  # fmt: skip
def test_a_few_nuls_are_shown(data: bytes, text: str) -> None:
    found = decoded(data)
    assert found is not None
    assert found.text == text
    assert "\0" not in found.text


def _binaries() -> dict[str, bytes]:
    source = random.Random(3)
    noise = bytes(source.choice(range(256)) for _ in range(3_000))
    return {
        "noise": noise,
        "short noise": b"\0\x01\x02ab",
        "only NULs": bytes(5_000),
        "a flag and NULs": b"UU" + bytes(8_000),
        "executable": b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0\x3e\0\x01\0\0\0" + noise,
        "integers": struct.pack("<200i", *range(200)),
        "small integers": struct.pack("<200h", *range(-100, 100)),
        "floats": struct.pack("<200f", *(0.1 * each for each in range(200))),
        "compressed": bytes(4) + zlib.compress(CODE.encode() * 50),
        "names between NULs": b"\0".join(b"PATH=/usr/bin HOME=/root LANG=C".split() * 20),
        "letters between NULs": b"ab\0cde\0fghi\0jk\0lmn\0opqrst\0u" * 9,
        "table": b"name   \0\x02\0\0\0\x10\0\0\0value  \0\x03\0\0\0\x11\0\0\0" * 20,
    }


@pytest.mark.parametrize("name", _binaries())
def test_binary_data_is_no_text(name: str) -> None:
    assert decoded(_binaries()[name]) is None


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # moor\r\n",
        "int moor(void);\n// done",
        CODE,
        "// Fähre: größer\nint x;\n",
        "// Паром уходит в шесть\n",
        "// 渡し船を係留する\nint x;\n",
        "渡船每天早上六点离开港口，大约三十分钟后到达对岸的村庄。\n天气不好的时候可能会停航，请提前查看时刻表。\n",
        "나룻배는 매일 아침 떠납니다.\n",
        "emoji 🚢 in a line\n",
    ],
)
def test_utf_16_without_a_mark_is_text(text: str, codec: str) -> None:
    assert decoded(text.encode(codec)) == Decoded(text, "UTF-16, guessed")


@pytest.mark.parametrize("codec", ["utf-16", "utf-32", "utf-8-sig", "utf-8"])
def test_a_byte_order_mark_decides(codec: str) -> None:
    found = decoded("größe, 渡し船\n".encode(codec))
    assert found is not None
    assert found.text == "größe, 渡し船\n"
    expected = "" if codec.startswith("utf-8") else f"{codec.upper()}, by its byte-order mark"
    assert found.encoding == expected


def test_positions_stay_when_a_nul_is_shown() -> None:
    text = "a = '\0'; b = 1\nc = 2\n"
    shown = without_nul(text)
    assert shown is not None
    assert [len(line) for line in shown.split("\n")] == [len(line) for line in text.split("\n")]
    assert shown.index("b") == text.index("b")
