"""The nearest known name is found for a mistyped one."""

from __future__ import annotations

import pytest

from cairn.text.nearest import near, nearest


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("serch", "search"),
        ("esarch", "search"),
        ("fetch", "fetch_page"),
        ("FetchPage", "fetch_page"),
        ("fetching_pages", ""),
        ("ts", ""),
        ("test", ""),
        ("zzz", ""),
        ("", ""),
        ("***", ""),
        ("search" * 100_000, ""),
    ],
)
def test_nearest_is_a_name_with_few_typing_errors_or_empty(name: str, meant: str) -> None:
    assert nearest(name, ("status", "tabs", "text_of_page", "search", "fetch_page")) == meant


def test_nearest_prefers_a_forgotten_letter_to_a_wrong_one() -> None:
    assert near("pyton", ("pycon", "python"), 2) == ["python", "pycon"]


def test_nearest_of_no_names_is_empty() -> None:
    assert nearest("search", ()) == ""
