"""Changes ranked by benefit, as text and as JSON."""
