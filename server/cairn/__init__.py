"""Cairn: a discovery language server over a local hybrid index of a workspace."""

__version__ = "0.2.0"
