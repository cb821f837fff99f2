"""Tools that know nothing about NICs."""
