"""How a process finds an engine that another process already has, and asks it over a private socket.

Everything here is imported by commands that must start within a few dozen milliseconds, so it uses the standard library alone,
and of that only what is small.
"""
