"""Facts read beside the measurement, each with its command and a pure parser: CPU time, steal,
versions, guard rails."""
