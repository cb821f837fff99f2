"""Run a measurement: open paths, make the runs in order, store the samples, judge them."""
