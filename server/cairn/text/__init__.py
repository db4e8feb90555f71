"""Words, identifiers, Unicode, sentences of running text and the names of languages: what every other package compares by.

It reads neither files nor indexes.
"""
