"""Which files a workspace has, what kind each is, when they change, and what git and imports say of them.

The one decision whether a file is indexed belongs here.
"""
