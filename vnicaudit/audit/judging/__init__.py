"""Rules and their subjects -> findings."""
