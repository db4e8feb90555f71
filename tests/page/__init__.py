"""Tests of the page in a real browser, which `scripts/test-page` runs."""
