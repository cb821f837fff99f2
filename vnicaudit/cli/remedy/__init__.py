"""``vnicaudit plan``, ``apply``, ``rollback`` and ``runs``: the commands of a change."""
