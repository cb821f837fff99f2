"""The stars that stand for a secret; in a module of their own, as masking is slow to load."""

STARS = "***"
