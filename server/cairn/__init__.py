"""Cairn: a discovery language server over a local hybrid index of a workspace."""

import os

# Products of small matrices must not wake threads, which would spin for longer than the product takes. numpy
# reads these variables when it is imported, which is after this package.
for _variable in ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_variable, "1")

__version__ = "0.2.0"
