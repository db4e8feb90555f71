"""Questions to a reader that one question of a person is made of: words, files, names and how they belong together.

All of them see unsaved text where the reader does.
"""
