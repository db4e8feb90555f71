"""Measures the ranking of the daemon's answers on public repositories, with ablations and baselines."""
