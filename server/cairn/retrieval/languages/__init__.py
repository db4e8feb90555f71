"""Translate questions in other languages, so that they find English code. Each language has a word list
(`es.txt`, …) that is read at the first question in that language."""
