"""The context of a place in a document: parts with budgets, joined into one text."""
