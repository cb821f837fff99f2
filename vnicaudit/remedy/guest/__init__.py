"""Inside a running guest, through its agent: read its settings on an interface, and restore them.

``agent.py`` asks the agent; ``network.py`` is the entry point to the rest: ``capture.py`` reads,
``batch.py`` writes the lines for ``ip``, the others handle one kind of setting each. ``words.py``
checks every word that comes from the guest.
"""
