"""Words, identifiers, Unicode, sentences and language names: the vocabulary of every other package.

Nothing here reads files or indexes.
"""
