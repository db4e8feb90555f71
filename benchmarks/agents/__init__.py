"""Measures the tokens and calls that agents spend until they have the facts, with Cairn's tools and with
others, without a language model."""
