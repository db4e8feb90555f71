"""Measures the ranking of the daemon's answers: question sets over public repositories, metrics, ablations,
baselines."""
