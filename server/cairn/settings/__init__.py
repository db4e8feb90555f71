"""The tree of settings with its defaults, the layers it is read from, and how it is shown.

The tree has every default and every limit. Code that uses a setting gets it as an argument and reads no file.
"""
