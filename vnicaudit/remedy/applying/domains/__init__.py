"""Definitions on their way, forward and back: of a domain on a live host, or in a file.

``prepare.py`` looks once more and makes a transaction (``definition_transactions.py``) of the steps
on one domain; ``preflight.py`` refuses. ``forward.py`` takes the domain (``place.py``: where it is)
from one definition to the other, ``undo.py`` back where that fails: ``defining.py``, ``power.py``,
``hotswap.py``, ``checks.py``, and ``guarded_trial.py``, which leaves no guest in the middle.
``rollback.py`` turns what a run did around, from the text that it kept (``originals.py``).
``files.py`` does it all for a definition in a file."""
