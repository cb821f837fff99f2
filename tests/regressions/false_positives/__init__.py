"""False positives: said wrong, and was fine."""
