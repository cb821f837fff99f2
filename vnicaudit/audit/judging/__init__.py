"""Rules and what they judge -> findings."""
