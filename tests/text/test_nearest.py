"""What somebody probably meant."""

from __future__ import annotations

import pytest

from cairn.text.nearest import nearest


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("serch", "search"),
        ("fetch", "fetch_page"),
        ("zzz", ""),
        ("", ""),
        ("search" * 100_000, ""),
    ],
)
def test_the_most_alike_is_meant_and_nothing_where_none_is(name: str, meant: str) -> None:
    assert nearest(name, ("status", "search", "fetch_page")) == meant


def test_of_nothing_known_nothing_is_meant() -> None:
    assert nearest("search", ()) == ""
