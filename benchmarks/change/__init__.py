"""Measures whether a change of code leads to the tests and files that its commit changed as well."""
