"""Read reports that users paste as questions: issues, bug reports, the output of failing tests."""
