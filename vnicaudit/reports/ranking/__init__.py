"""Changes ranked by what they cost: as text, and as JSON."""
