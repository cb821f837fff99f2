"""Tables of a measurement: rows of values, where they drop, dimensions, layout."""
