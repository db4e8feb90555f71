"""Rank passages for a question: understand the query, run the search legs, score files, judge the result."""
