"""Parts for engines of any kind: checks of their options, servers that listen."""
