"""Said wrong, and was fine."""
