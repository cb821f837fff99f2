"""Report in, text out: one file per output format. Nothing here prints."""
