"""The rows of the index engine's benchmark, and what they share: the daemon, the working copy, the
figures."""
