"""How many tokens and calls agents spend until they have the facts, with Cairn's tools and with others,
without a language model."""
