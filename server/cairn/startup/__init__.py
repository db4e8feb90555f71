"""Memory, threads and signals of a process, for fast starts, low latency and clean ends."""
