"""What a change touches: the definitions that it changes, and what belongs to them."""
