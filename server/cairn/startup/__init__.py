"""Memory, threads and signals of a process: fast starts, low latency, clean ends."""
