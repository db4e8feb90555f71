"""How well the daemon's answers are ranked: question sets over public repositories, metrics, ablations,
baselines."""
