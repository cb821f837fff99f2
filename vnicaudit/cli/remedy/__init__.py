"""``vnicaudit plan``, ``apply``, ``rollback`` and ``runs``: commands that plan and make changes."""
