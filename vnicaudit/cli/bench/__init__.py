"""``vnicaudit bench``: commands that measure."""
