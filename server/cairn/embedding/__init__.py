"""Turn texts into vectors, with the code model that comes with Cairn or with a larger, installed one."""
