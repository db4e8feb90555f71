"""Strict conversion between JSON and typed classes, limits of values, and JSON Schema.

This package does not depend on the classes of the protocol or the settings.
"""
