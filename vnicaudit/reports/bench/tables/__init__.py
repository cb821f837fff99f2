"""Tables of a measurement: rows of values, drops, dimensions, layout."""
