"""Whether the files and functions that an issue's fix changed are found by the text of the issue."""
