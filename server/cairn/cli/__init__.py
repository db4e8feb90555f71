"""The command line: each command parses its arguments, asks the engine and prints the answer.

How an answer looks on a terminal belongs here. What the answer is belongs to `cairn.engine`, and no command reads an
index itself.
"""
