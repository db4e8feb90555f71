"""What the source says of a class and its fields, for whoever describes them elsewhere: TypeScript, JSON schema."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Hashable, Mapping
from typing import Any


def class_doc(cls: type[Any]) -> str:
    """The class's own docstring; "" where it has none."""
    doc = cls.__dict__.get("__doc__") or ""
    return "" if doc.startswith("Method generated") else inspect.cleandoc(doc)


@functools.cache
def field_docs(cls: Hashable) -> Mapping[str, str]:
    """The string under each field of a class that has one, by the field's name."""
    assert isinstance(cls, type)
    (body,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(body, ast.ClassDef)
    docs = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = following.value if isinstance(following, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docs[statement.target.id] = inspect.cleandoc(value.value)
    return docs
