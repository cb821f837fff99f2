"""``vnicaudit advise``: which network for which flow."""
