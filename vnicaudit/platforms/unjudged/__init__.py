"""Parts of files in forms that no platform reads."""
