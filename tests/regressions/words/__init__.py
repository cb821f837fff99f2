"""Words that mislead, and exit codes."""
