"""Reads a snapshot of a team's index through a server over HTTP."""
