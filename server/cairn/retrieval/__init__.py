"""From a question to ranked passages: understanding, search legs, ranking signals, verdict.

It reads indexes and knows no front and no protocol.
"""
