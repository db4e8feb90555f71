"""The SQLite file: its tables, its one writer, its lock and its maintenance. All writes happen here or
through the writer's connection, in transactions."""
