"""How many of the facts that an answer needs are handed over, at several budgets of tokens."""
