"""Words and numbers that the formats of a measurement share."""
