"""The rows of the index engine's benchmark, with the daemon, the working copy and the figures they share."""
