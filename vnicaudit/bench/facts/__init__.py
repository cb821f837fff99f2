"""Facts read beside the measurement: CPU time, steal, versions; each with its command and a pure
parser."""
