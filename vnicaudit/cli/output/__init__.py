"""Standard output, standard error, and report files."""
