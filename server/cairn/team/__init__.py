"""A team's shared store: one PostgreSQL database instead of an index file on each machine."""
