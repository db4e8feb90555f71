"""What belongs to a place in a document, as parts with budgets, put together as one text."""
