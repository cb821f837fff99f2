"""Charts of a measurement: dots with intervals, curves of sweeps, percentiles of latency.

They are drawn with matplotlib (docs/decisions/0008-charts.md), which is an extra and is loaded only
to draw.
"""
