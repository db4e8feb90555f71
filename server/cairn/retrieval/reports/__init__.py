"""Reports pasted as questions: issues, bug reports, the output of failing tests."""
