"""One case for each thing that went wrong once, named after what must not happen again."""
