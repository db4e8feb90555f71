"""Translate questions in other languages, so that they find English code. Each language has a word list
(`es.txt`, …) and most have one more that was learnt from translated texts (`aligned/es.txt`, …). Both are
read at the first question in that language."""
