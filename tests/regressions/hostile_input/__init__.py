"""Secrets that were shown, and what strangers' files made the program do."""
