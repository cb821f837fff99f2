"""Words and numbers shared by the formats of a measurement."""
