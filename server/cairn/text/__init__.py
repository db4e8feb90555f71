"""Words, identifiers and Unicode: what every other package compares text by.

It knows neither files nor indexes.
"""
