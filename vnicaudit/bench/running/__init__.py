"""Carry a measurement out: paths opened, runs in their order, samples kept, the verdict drawn."""
