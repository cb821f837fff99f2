"""Carry a plan out, and take it back: journal first, then act, then look.

``engine.py`` goes through a plan or a run's way back; ``unit.py`` is one domain on its way from one
definition to another, however often the program is ended in between; ``journal.py`` and
``state.py`` are what it remembers. ``preflight.py`` refuses, ``defining.py`` writes and reads back,
``restart.py`` and ``hotswap.py`` make it take effect, ``verify.py`` looks at what runs.
"""
