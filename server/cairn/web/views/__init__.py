"""The views: each module handles the requests of one page, and prepares the values of its templates."""
