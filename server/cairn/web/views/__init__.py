"""The views. Each module handles the requests of one page and prepares the values of its templates."""
