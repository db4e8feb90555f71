"""Words, identifiers, Unicode and the names of languages: what every other package compares text by.

It reads neither files nor indexes.
"""
