"""What is declared beside a setting besides its type and its default, and how it is asked for."""

from __future__ import annotations

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


def adds_up(attribute: attrs.Attribute[Any]) -> bool:
    """Whether values from several places are joined."""
    return bool(attribute.metadata.get("adds_up"))


def is_user_only(attribute: attrs.Attribute[Any]) -> bool:
    """Whether a workspace's own file may not set it."""
    return bool(attribute.metadata.get("user_only"))


def names_a_file(attribute: attrs.Attribute[Any]) -> bool:
    """Whether the value is a path."""
    return bool(attribute.metadata.get("names_a_file"))


def limits_of(attribute: attrs.Attribute[Any]) -> Bounds:
    """What the setting must lie in."""
    return bounds_of(attribute) or ANY_NUMBER
