"""A snapshot of a team's index, read through a server over HTTP."""
