"""Tools for operating Cairn: metrics, kill switch, query log, doctor, feedback and control."""
