"""``vnicaudit history``, ``trend`` and ``drift``: the commands of the memory of a fleet."""
