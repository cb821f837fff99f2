"""Inside a running guest, through its agent: read its settings on an interface, and restore them.

``agent.py`` asks the agent; ``network.py`` is the entry point to the rest: ``capture.py`` reads,
``links.py`` and ``routes.py`` handle one kind of setting each, and check every word that comes from
the guest.
"""
