"""Charts of a measurement: dots with intervals, curves of sweeps, percentiles of latency.

matplotlib draws them (docs/decisions/0008-charts.md). It is an extra, and is loaded when something
is drawn.
"""
