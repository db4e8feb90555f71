"""The tree of settings with its defaults, the layers it is read from, and how it is shown.

Every default and every limit stands in the tree. Whoever uses a setting is handed it and reads no file.
"""
