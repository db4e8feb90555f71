"""The command line. Each command parses its arguments, calls the engine and prints the answer.

No command reads an index itself.
"""
