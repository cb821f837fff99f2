"""Said clean, and was not."""
