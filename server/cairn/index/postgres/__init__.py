"""The team store on PostgreSQL: the tables, the access rights to rows, and the connections to servers."""
