"""One case for each thing that was wrong once, named after what must not happen again."""
