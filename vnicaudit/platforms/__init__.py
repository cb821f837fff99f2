"""Platforms: places that describe NICs. Each folder reads its descriptions into the model."""
