"""Metrics, phases, feedback, doctor: what keeps a running Cairn observable."""
