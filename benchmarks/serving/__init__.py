"""Runs a real `cairn serve` process under clients of all kinds."""
