"""What changed in the head of a function, and whether old calls are still right."""

from __future__ import annotations

import pytest

from cairn.change.signatures import signature_change


@pytest.mark.parametrize(
    ("before", "after", "reason", "is_compatible"),
    [
        ("def f ( a ) :", "def f ( a , b ) :", "it has the new parameter `b`", False),
        ("def f ( a ) :", "def f ( a , b = 1 ) :", "it has the new optional parameter `b`", True),
        ("def f ( a , c ) :", "def f ( a , b = 1 , c ) :", "it has the new optional parameter `b`", False),
        ("def f ( self , a , ** rest ) :", "def f ( self , a , b : int = 1 , ** rest ) :",
         "it has the new optional parameter `b`", True),
        ("def f ( a , b ) :", "def f ( a ) :", "it is without the parameter `b`", False),
        ("def f ( a ) :", "def f ( b ) :", "it is without the parameter `a`, with `b`", False),
        ("def f ( a , b ) :", "def f ( b , a ) :", "the order of its parameters changed", False),
        ("def f ( a : int ) :", "def f ( a : str ) :", "types or defaults of its parameters changed", False),
        ("def f ( a ) :", "def f ( a ) -> int :", "its result, type or modifiers changed", False),
        ("function f ( a : number )", "function f ( a : number , b ? : string )",
         "it has the new optional parameter `b`", True),
        ("func ( t * T ) f ( a int )", "func ( t * T ) f ( a int , b string )",
         "it has the new parameter `string`", False),
        ("public int f ( int a )", "public int f ( int a , int b )", "it has the new parameter `b`", False),
        ("function f ( array $a )", "function f ( array $a , ? int $b = null )",
         "it has the new optional parameter `$b`", True),
        ("fun f ( a : Map < A , B > )", "fun f ( a : Map < A , B > , b : Int = 1 )",
         "it has the new optional parameter `b`", True),
        ("class f : B", "class f : C", "its signature changed", False),
    ],
)  # fmt: skip
def test_what_changed_is_said(before: str, after: str, reason: str, is_compatible: bool) -> None:
    found = signature_change("f", before, after)
    assert (found.reason, found.is_compatible) == (reason, is_compatible)
