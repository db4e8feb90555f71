"""Query understanding, search legs, ranking and verdict."""
