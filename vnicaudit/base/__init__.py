"""Tools that know nothing of NICs."""
