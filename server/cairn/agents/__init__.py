"""The tools that agents have: their names, manuals and arguments, and how their answers read to a language model.

Fronts list these tools and hand their answers on. An answer is made of those of `cairn.engine`, as every other front has
them, and is written here: short, within a budget of tokens, with places that every other tool takes.
"""
