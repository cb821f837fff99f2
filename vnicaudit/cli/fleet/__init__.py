"""``vnicaudit fleet``: audits of all hosts of an inventory."""
