"""The files of a workspace: their kinds, their changes, their git history and their imports.

The only decision whether a file is indexed is made here.
"""
