"""The tools of agents: their names, manuals and arguments, and their answers as text for a language model.

The fronts list these tools and return their answers. This package writes the results of `cairn.engine` as
short text within a budget of tokens; a place printed by one tool is valid input for every other.
"""
