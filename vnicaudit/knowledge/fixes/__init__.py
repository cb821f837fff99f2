"""How a fix is worded for the owner of a definition: the one place that renders it in English."""
