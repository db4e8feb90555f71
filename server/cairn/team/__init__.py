"""A store that a team shares: one PostgreSQL database instead of an index file on each machine."""
