"""The HTTP front: REST, its OpenAPI description, metrics and health.

This package contains access control, limits and the format of errors. `cairn.engine` answers the requests.
"""
