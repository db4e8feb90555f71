"""The HTTP front: REST, its OpenAPI description, metrics and health.

It contains access control, limits and the shape of errors. `cairn.engine` answers the requests.
"""
