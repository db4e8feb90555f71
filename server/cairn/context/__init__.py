"""What a language model should know about a place in the editor: parts with budgets, put together as one text (S2)."""
