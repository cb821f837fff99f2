"""Inside a running guest, through its agent: what it has set on an interface, and how that is put
back.

``agent.py`` asks the agent; ``network.py`` is the way in to the rest: ``capture.py`` reads,
``batch.py`` writes the lines for ``ip``, the others are one kind of setting each. ``words.py``
keeps what a guest says to what it should be.
"""
