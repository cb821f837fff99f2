"""``vnicaudit host``: CPUs, masks and tables of steering of a host."""
