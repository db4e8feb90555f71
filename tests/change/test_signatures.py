"""What changed in the head of a function, and whether old calls are still right."""

from __future__ import annotations

import pytest

from cairn.change.signatures import signature_change

LONGER = "def f ( a , b ) :", "def f ( a , b , c ) :"
OPTIONAL = "def f ( a , b = 1 ) :", "def f ( a , b = 1 , c = 2 ) :"
SHORTER = "def f ( a , b = 1 , c = 2 ) :", "def f ( a , c = 2 ) :"
BETWEEN = "def f ( a , c ) :", "def f ( a , b = 1 , c = 2 ) :"
SWAPPED = "def f ( a , b ) :", "def f ( b , a ) :"
REST = "def f ( self , a , ** rest ) :", "def f ( self , a , b : int = 1 , ** rest ) :"
TYPES = "def f ( a : int ) -> int :", "def f ( a : str ) -> str :"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (*LONGER, "it has the new parameter `c`"),
        (*OPTIONAL, "it has the new optional parameter `c`"),
        (*REST, "it has the new optional parameter `b`"),
        (*SHORTER, "it is without the parameter `b`"),
        ("def f ( a ) :", "def f ( b ) :", "it is without the parameter `a`, with `b`"),
        (*SWAPPED, "the order of its parameters changed"),
        (*TYPES, "types or defaults of its parameters changed"),
        ("def f ( a ) :", "def f ( a ) -> int :", "its result, type or modifiers changed"),
        ("function f ( a : number )", "function f ( a : number , b ? : string )",
         "it has the new optional parameter `b`"),
        ("public int f ( int a )", "public int f ( int a , int b )", "it has the new parameter `b`"),
        ("function f ( array $a )", "function f ( array $a , ? int $b = null )",
         "it has the new optional parameter `$b`"),
        ("function f ( $ a )", "function f ( $ b , $ a )", "it has the new parameter `$b`"),
        ("fun f ( a : Map < A , B > )", "fun f ( a : Map < A , B > , b : Int = 1 )",
         "it has the new optional parameter `b`"),
        ("class f : B", "class f : C", "its signature changed"),
    ],
)  # fmt: skip
def test_what_changed_is_said(before: str, after: str, reason: str) -> None:
    assert signature_change("f", before, after).reason == reason


@pytest.mark.parametrize(
    ("heads", "call", "fits"),
    [
        (LONGER, "(1, 2)", False),
        (LONGER, "(1, 2, 3)", True),
        (OPTIONAL, "(1)", True),
        (OPTIONAL, "(1, b=(2, 3))", True),
        (SHORTER, "(1)", True),
        (SHORTER, "(1, c=3)", True),
        (SHORTER, "(1, b=3)", False),
        (SHORTER, "(1, 3)", False),
        (BETWEEN, "(1, 2)", False),
        (BETWEEN, "(1, c=2)", True),
        (SWAPPED, "(1, 2)", False),
        (SWAPPED, "(a=1, b=2)", True),
        (REST, "(1, more=2)", True),
        (TYPES, "(1)", True),
        (OPTIONAL, '("a, (b", {1: 2})', True),
        (OPTIONAL, "(*given)", False),
        (OPTIONAL, "(1", False),
        (("def f ( self , a ) :", "def f ( self , a , b ) :"), "(berth, 1)", False),
        (OPTIONAL, " 1", False),
    ],
)
def test_calls_that_fit_both_signatures_are_recognised(heads: tuple[str, str], call: str, fits: bool) -> None:
    assert signature_change("f", *heads, language="python").fits(call) is fits


def test_types_decide_in_typed_languages() -> None:
    assert not signature_change("f", *TYPES).fits("(1)")
    assert signature_change("f", *OPTIONAL).fits("(1)")


def test_names_come_first_in_go() -> None:
    found = signature_change("f", "func f ( a int )", "func f ( a int , b string )", language="go")
    assert found.reason == "it has the new parameter `b`"
