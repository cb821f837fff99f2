"""The programs of any engine: checks of their options, servers that listen."""
