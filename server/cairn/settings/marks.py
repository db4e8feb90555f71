"""Marks of settings: metadata beside the type and the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cairn.schema.bounds import ANY_NUMBER, Bounds, bounds_of, within

JOINED = {"adds_up": True}
"""The mark of a list or mapping whose values from several layers are joined."""
USER_ONLY = {"user_only": True}
"""The mark of a setting that a workspace's file may not set, because the author of a repository must not open
a port, slow down answers or log queries."""
NAMES_A_FILE = {"names_a_file": True}
"""The mark of a path. A workspace's file and a request may only name paths in the workspace."""
SHARE = within(0, 1)


def is_marked(attribute: attrs.Attribute[Any], mark: Mapping[str, object]) -> bool:
    """Return whether the setting has the mark."""
    return mark.items() <= attribute.metadata.items()


def limits_of(attribute: attrs.Attribute[Any]) -> Bounds:
    """Return the limits of the setting's value."""
    return bounds_of(attribute) or ANY_NUMBER
