"""Identifiers are split into words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.text.identifiers import identifier_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("snake_case_name", ["snake", "case", "name"]),
        ("kebab-case-name", ["kebab", "case", "name"]),
        ("camelCaseName", ["camel", "case", "name"]),
        ("PascalCaseName", ["pascal", "case", "name"]),
        ("SCREAMING_SNAKE", ["screaming", "snake"]),
        ("HTTPServer", ["http", "server"]),
        ("getHTTPResponseCode", ["get", "http", "response", "code"]),
        ("parseURLs", ["parse", "urls"]),
        ("IDsOfUsers", ["ids", "of", "users"]),
        ("utf8Decode", ["utf", "8", "decode"]),
        ("SHA256Hash", ["sha", "256", "hash"]),
        ("__init__", ["init"]),
        ("std::vector", ["std", "vector"]),
        ("doX:with:", ["do", "x", "with"]),
        ("ÜberGröße", ["über", "größe"]),
        ("preçoTotal", ["preço", "total"]),
        ("数据库", ["数据库"]),
        ("", []),
        ("!?", []),
    ],
)
def test_splits_a_name_into_its_words(name: str, words: list[str]) -> None:
    assert identifier_words(name) == words


@given(st.text(alphabet="ABCSabs019_ -", max_size=40))
def test_fast_patterns_split_like_plain_ones(name: str) -> None:
    plain = re.sub(r"(?<![A-Z])[A-Z]{2,}s(?![a-z])", lambda match: match[0].capitalize(), name)
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+", plain)
    assert identifier_words(name) == [word.lower() for word in words]


@given(st.text(max_size=40))
def test_no_letter_or_digit_is_lost(name: str) -> None:
    kept = [character for character in name if character.isalpha() or character.isdecimal()]
    if name.isascii():
        assert "".join(identifier_words(name)) == "".join(kept).lower()
    assert all(identifier_words(name))
