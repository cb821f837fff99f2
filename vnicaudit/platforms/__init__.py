"""Places that describe NICs. Each folder reads its description into the model."""
