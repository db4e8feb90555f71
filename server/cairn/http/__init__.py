"""The HTTP front: REST, its OpenAPI description, metrics and health.

Who may ask, limits of connections and the shape of errors belong here. Requests are answered by `cairn.engine`.
"""
