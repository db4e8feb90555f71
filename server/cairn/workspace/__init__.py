"""The files of a workspace: their kinds, their changes, and their git history and imports.

The single decision whether a file is indexed belongs here.
"""
