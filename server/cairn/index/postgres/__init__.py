"""The team store on PostgreSQL: its tables, who may see which rows, and connections to its servers."""
