"""Which files there are: ignore rules, scanning, watching, collections."""
