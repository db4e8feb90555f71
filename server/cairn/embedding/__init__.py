"""Turn texts into vectors, with the code model that comes with Cairn or a larger, installed one."""
