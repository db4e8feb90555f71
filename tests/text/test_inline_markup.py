"""Inline markup is stripped; code spans and names are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.text.inline_markup import strip_inline

CASES = {
    "emphasis": ("**bold** and *soft*, ***both***, _it_ and ~~not~~", "bold and soft, both, it and not"),
    "nested emphasis": ("*a **b** c* **_x_**", "a b c x"),
    "strong names": ("__Note:__ `x` and __init__", "Note: `x` and __init__"),
    "names and globs": (
        "snake_case, _private_name_, *args, **kwargs, *.py, *.js and src/**/*.md",
        "snake_case, _private_name_, *args, **kwargs, *.py, *.js and src/**/*.md",
    ),
    "operators": ("2*3*4 and 2**3**4, char *a, char *b", "2*3*4 and 2**3**4, char *a, char *b"),
    "escapes": (r"\*args\* and snake\_case", "*args* and snake_case"),
    "code spans": ("`*a* [b](c)` and ``a ` &amp;``", "`*a* [b](c)` and ``a ` &amp;``"),
    "links": ('[the guide](a.md "t"), [ref][x] and [own][]', "the guide, ref and own"),
    "attributes of links": ("[a b](c.md){.internal-link target=_blank} d", "a b d"),
    "brackets of an address": ("[a](b_(c)) d", "a d"),
    "indices and generics": (
        "a[0](x), b[i][j], func Map[K, V any](m map[K]V), Vec<T>",
        "a[0](x), b[i][j], func Map[K, V any](m map[K]V), Vec<T>",
    ),
    "links of rustdoc": ("See [`Router`] and [`x`](y).", "See `Router` and `x`."),
    "images": ("[![Build](https://x/y.svg)](https://x) ![alt][ref] text", "text"),
    "autolinks": ("<https://a.b/c_d> and https://a.b/_c_", "https://a.b/c_d and https://a.b/_c_"),
    "footnotes": ("One[^1] and two [1]_ and [#f]_.", "One and two and."),
    "html": ("<b>a</b> <code>x &lt; y</code>, H<sub>2</sub>O &amp; more<br/>b", "a `x < y`, H2O & more b"),
    "roles": (":class:`Foo`, :py:meth:`~a.b.run` and :ref:`the title <x>`", "`Foo`, `run` and the title"),
    "links of reStructuredText": ("`a text <http://u>`_ and `Name`_ and ``x``", "a text and Name and ``x``"),
    "doc comments": (
        '{@code a}, {@link Foo#bar label}, {@link Foo} <see cref="T:A.B"/> <c>x</c>',
        "`a`, label, `Foo` `A.B` `x`",
    ),
    "line ends": ("one\\\ntwo  three", "one two three"),
    "stars of notes": ("By 200%. *", "By 200%."),
    "other scripts": ("中文**粗体**中文，*路径*操作", "中文粗体中文，路径操作"),
}


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES.keys())
def test_inline_markup_is_stripped(source, expected):
    assert strip_inline(source).text == expected


@given(st.text(alphabet="ab* _`~[]()<>&;\\!:^\n.{}@", max_size=120))
def test_remaining_characters_have_their_places(source):
    stripped = strip_inline(source)
    assert len(stripped.text) == len(stripped.places)
    assert list(stripped.places) == sorted(stripped.places)
    assert stripped.text == " ".join(stripped.text.split())
    for character, place in zip(stripped.text, stripped.places, strict=True):
        assert character in (source[place], " ", "`") or source[place] in "\\`:[<{&"


def test_places_point_at_the_same_characters():
    source = "One **two** [three](http://x) `four_five`"
    stripped = strip_inline(source)
    assert "".join(source[place] for place in stripped.places) == stripped.text == "One two three `four_five`"
