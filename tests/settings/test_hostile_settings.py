"""Any input gives valid settings."""

from __future__ import annotations

import datetime
from typing import Any

import attrs
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.settings.setting_trees import attributes

from cairn.schema.convert import camel_case
from cairn.settings.layers import Layers, overlay
from cairn.settings.marks import limits_of
from cairn.settings.tree import Settings, leaves

NAMES = sorted({name for keys in attributes() for name in keys})
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**63, "characters", "features", "json", "//h/s"])
    | st.floats()
    | st.text(max_size=10)
    | st.datetimes()
    | st.just(datetime.time(1))
)
names = st.sampled_from(NAMES) | st.sampled_from(NAMES).map(camel_case) | st.text(max_size=6)
hostile = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def trees(draw: st.DrawFn, cls: Any = Settings) -> dict[str, Any]:
    """Generate tables with mostly valid names and mostly invalid values."""
    values = draw(st.dictionaries(names, hostile, max_size=1))
    default = cls()
    for name in draw(st.sets(st.sampled_from([*attrs.fields_dict(cls)]), max_size=4)):
        part = type(getattr(default, name))
        values[draw(st.sampled_from([name, camel_case(name)]))] = draw(
            trees(part) if attrs.has(part) else hostile
        )
    return values


def is_valid(settings: Any) -> bool:
    defaults, values = leaves(Settings()), leaves(settings)
    return set(defaults) == set(values) and all(
        type(values[keys]) is type(defaults[keys]) and limits_of(attribute).problem_with(values[keys]) is None
        for keys, attribute in attributes().items()
    )


@hypothesis_settings(max_examples=100)
@given(trees())
def test_any_values_give_valid_settings(values: dict[str, Any]) -> None:
    settings, warnings = overlay(Settings(), values, "cairn")
    assert is_valid(settings)
    assert all(text.isprintable() for text in warnings)
    hash(settings)


@hypothesis_settings(max_examples=100)
@given(st.dictionaries(
    st.lists(st.sampled_from([*NAMES, "x", ""]), min_size=1, max_size=4).map(lambda k: "CAIRN_" + "__".join(k)),  # noqa: E501
    st.text(st.characters(codec=None), max_size=20) | st.sampled_from(["[[[", "{a=1}", "1e999", "-1", "nan", "['a']"]),  # noqa: E501
    max_size=4,
))  # fmt: skip
def test_any_variables_give_valid_settings(environment: dict[str, str]) -> None:
    assert is_valid(Layers(environment=environment).without_workspace().settings)


def test_deep_nesting_is_refused() -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    settings, warnings = overlay(Settings(), {"index": {"exclude": deep, "maxFileBytes": deep}}, "cairn")
    assert settings == Settings()
    assert len(warnings) == 2
