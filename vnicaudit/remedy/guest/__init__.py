"""Inside a running guest, through its agent: read its settings on an interface, and restore them.

``agent.py`` asks the agent; ``network.py`` reads and restores; for one kind of setting each,
``links.py`` and ``routes.py`` have the records and commands, and check every word that comes from
the guest.
"""
