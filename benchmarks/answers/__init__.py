"""Measures how many of the facts that an answer needs are in the retrieved text, at several budgets."""
