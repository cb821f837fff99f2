"""Metrics of an audit and of a fleet: families of gauges with bounded label sets."""
