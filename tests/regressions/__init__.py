"""What was seen to go wrong once, each under what must not happen again."""
