"""The views: one module for each page, from what an address asks to what a template shows."""
