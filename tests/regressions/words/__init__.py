"""Words and exit codes that misled."""
