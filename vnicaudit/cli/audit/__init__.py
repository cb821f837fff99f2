"""``vnicaudit audit``, ``nics``, ``explain`` and ``rules``: the commands that only read."""
