"""What is declared beside a setting besides its type and its default, and how it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cairn.schema.bounds import ANY_NUMBER, Bounds, bounds_of, within

ADDS_UP = {"adds_up": True}
"""Marks a list or mapping whose values from several places are joined instead of replaced."""
USER_ONLY = {"user_only": True}
"""Marks what a workspace's own file may not set: what opens a port, delays answers or writes down what was asked is for
the person in front of the screen to say, not for whoever wrote the repository."""
NAMES_A_FILE = {"names_a_file": True}
"""Marks a path, which a workspace's own file and a request may only have lie in the workspace."""
SHARE = within(0, 1)


def is_marked(attribute: attrs.Attribute[Any], mark: Mapping[str, object]) -> bool:
    """Whether the setting was declared with the mark."""
    return mark.items() <= attribute.metadata.items()


def limits_of(attribute: attrs.Attribute[Any]) -> Bounds:
    """What the setting must lie in."""
    return bounds_of(attribute) or ANY_NUMBER
