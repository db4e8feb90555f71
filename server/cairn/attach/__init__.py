"""Finding an engine that another process runs, and querying it over a private socket.

Commands that must start within a few dozen milliseconds import these modules, which therefore import only
small modules of the standard library.
"""
