"""The tools of agents: their names, manuals and arguments, and their answers as text for a language model.

The fronts list these tools and return their answers. An answer is short text within a budget of tokens. Every
tool accepts the places (`path:first-last`) that any tool prints.
"""
