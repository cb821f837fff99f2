"""The settings file: where it is, what it may say, what it says."""
