"""The settings file: its location, its keys and its contents."""
