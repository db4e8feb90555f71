"""Strict conversion between JSON and typed classes, their limits, and their JSON Schema.

It knows no class of the protocol or the settings: those describe themselves to it.
"""
