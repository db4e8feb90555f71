"""Questions in other languages about English code: which language a question is in, and the question in English.

One list of words for each language (`es.txt`, …), read when the first question in it is asked.
"""
