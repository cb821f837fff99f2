"""``vnicaudit history``, ``trend`` and ``drift``: commands on the history of a fleet."""
