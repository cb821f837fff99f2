"""The stars that stand for a secret; in a separate module because loading the masking is slow."""

STARS = "***"
