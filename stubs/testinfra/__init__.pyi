"""What vnicaudit uses of pytest-testinfra, which does not offer its types to others."""
