"""Facts read beside the measurement: CPU time, steal, versions; command and pure parser."""
