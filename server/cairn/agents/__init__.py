"""The tools of agents: their names, manuals and arguments, and their answers as text for a language model.

The fronts list these tools and return their answers. They write results as short text within a budget of
tokens; every tool accepts the places that another prints.
"""
