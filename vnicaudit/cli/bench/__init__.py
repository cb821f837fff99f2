"""``vnicaudit bench``: the commands that measure."""
