"""Benchmarks of `cairn/discover`: the quality of its evidence, and its latency."""
