"""Reach an end: the contract of a transport, processes, and commands on a host."""
