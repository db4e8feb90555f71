"""Cut texts into chunks: by syntax, headings or lines.

Grammars, the rules of each language and the text that is embedded belong here. Reading files does not.
"""
