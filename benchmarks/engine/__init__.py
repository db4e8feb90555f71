"""The rows of the index engine's benchmark, and their shared parts: the daemon, the working copy, the
figures."""
