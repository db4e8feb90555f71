"""Words, identifiers, Unicode, sentences and language names, for every other package.

Nothing here reads files or indexes.
"""
