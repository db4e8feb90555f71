"""Translate questions in other languages about English code. Each language has a word list (`es.txt`, …),
read for the first question in it."""
