"""Peers, run beside us on the same arrays."""
