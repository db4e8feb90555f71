"""The SQLite file: its tables, the one writer, its lock and its upkeep.

Everything that is written is written here or through the writer's connection, in transactions.
"""
