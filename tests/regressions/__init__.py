"""What was wrong once, each named after what must not happen again."""
