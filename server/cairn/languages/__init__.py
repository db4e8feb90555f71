"""The languages: one module for each language or family, with all that Cairn knows of it.

A module defines `Language`s: the names of files, the definitions in a syntax tree, how imports are read and
resolved, the queries for references, and the scope rules. `registry` finds the modules by itself. The module
`others` has the languages of which only names are known.
"""
