"""The SQLite file: its tables, the one writer, the readers, its lock and its upkeep.

Everything that is written is written here, in transactions.
"""
