"""The nearest known name is found for a mistyped one."""

from __future__ import annotations

import pytest

from cairn.text.nearest import nearest


@pytest.mark.parametrize(
    ("name", "meant"),
    [("serch", "search"), ("fetch", "fetch_page"), ("zzz", ""), ("", ""), ("search" * 100_000, "")],
)
def test_nearest_is_the_most_similar_name_or_empty(name: str, meant: str) -> None:
    assert nearest(name, ("status", "search", "fetch_page")) == meant


def test_nearest_of_no_names_is_empty() -> None:
    assert nearest("search", ()) == ""
