"""Options that commands share, and their meaning."""
