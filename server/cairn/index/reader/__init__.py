"""One index as it is read: connections of threads, filters, and every question about its chunks and vectors."""
