"""The table of methods names handlers of the right types."""

from __future__ import annotations

import subprocess
import sys
import typing

import pytest

from cairn.engine.methods import METHODS, SYMBOLS, Method, Needs, method_named
from cairn.engine.request import Attempt, Request
from cairn.errors import InvalidRequestError


@pytest.mark.parametrize("method", [*METHODS.values(), SYMBOLS], ids=lambda method: method.name)
def test_a_handler_has_the_types_of_the_table(method: Method) -> None:
    request, params, answer = typing.get_type_hints(method.handle(), localns={"Request": Request}).values()
    assert request is Request
    assert params is method.params_class()
    assert method.answer_type() in (answer, *typing.get_args(answer))
    assert (typing.get_origin(answer) is Attempt) == (method.needs is Needs.ANSWER)
    if method.needs is Needs.ANSWER:
        assert method.fallback_answer()


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    assert method_named("cairn/search") is METHODS["search"]
    with pytest.raises(InvalidRequestError, match="the methods are search, discover"):
        method_named("serach")


def test_listing_the_methods_imports_no_handler() -> None:
    code = (
        "import sys, cairn.engine.methods;"
        "print([name for name in ('numpy', 'apsw', 'cairn.retrieval', 'cairn.index') if name in sys.modules])"
    )
    shown = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
