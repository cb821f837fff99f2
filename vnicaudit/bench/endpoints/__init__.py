"""Where generators run: one file per transport."""
