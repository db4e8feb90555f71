"""The facade for all fronts: the open folders, the methods of the protocol, and the running of requests."""
