"""Rules x NICs -> report: work out the effective settings from the declared ones, judge, filter."""
