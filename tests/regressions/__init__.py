"""What was found wrong once, and must not happen again: one case for each."""
