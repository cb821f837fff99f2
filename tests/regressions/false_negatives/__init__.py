"""False negatives: said clean, and was not."""
