"""Load generators: one file each, with its commands and the pure parsers of its output."""
