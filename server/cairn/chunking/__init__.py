"""Text to chunks, by syntax, headings or lines.

Grammars, rules for languages and what of a chunk is embedded belong here. Which files are read does not.
"""
