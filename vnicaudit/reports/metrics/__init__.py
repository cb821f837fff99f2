"""Metrics: families of gauges with bounded label sets, of one audit and of a fleet."""
