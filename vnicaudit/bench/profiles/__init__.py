"""Profiles: the workloads, the number of runs and the criteria of a measurement; shipped and
user-defined ones."""
