"""Measures real agents: a language model answers questions about repositories with grep, with Cairn, or with
both."""
