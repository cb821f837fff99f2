"""One case for each thing that once went wrong and must not again."""
