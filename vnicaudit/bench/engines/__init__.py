"""Load generators: one file each, its commands and the pure parsers of what it prints."""
