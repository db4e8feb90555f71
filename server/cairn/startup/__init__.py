"""Memory, threads, signals and output streams of a process, for fast starts, low latency and clean ends."""
