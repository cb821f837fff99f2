"""Carry a plan out, and take it back: journal first, then act, then look.

``engine.py`` begins a run or finds the unfinished one, ``back.py`` is the way back, ``runner.py``
goes through the domains by the ``schedule.py``. ``prepare.py`` looks once more and makes a task of
the steps on one domain; ``preflight.py`` refuses. ``unit.py`` takes the domain from one definition
to the other, ``undoing.py`` back where that fails: ``defining.py``, ``power.py``, ``hotswap.py``,
``verify.py``; ``files.py`` does it for a file, and ``clouds/`` for what is in a cloud; ``apart.py``
keeps those apart that must not be away together. ``way_back.py`` is what there is to be undone.
``journal.py``, ``sheet.py`` and ``state.py`` are what is remembered.
"""
