"""What makes a process start fast and stay responsive: memory, threads and imports.

It knows nothing of indexes or questions.
"""
