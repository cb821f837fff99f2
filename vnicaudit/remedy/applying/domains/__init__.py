"""Change definitions, and undo the changes: of a domain on a live host, or in a file.

``prepare.py`` checks the present state once more and makes a transaction
(``definition_transactions.py``) of the steps on one domain; ``preflight.py`` refuses.
``forward.py`` changes the domain (its connection is in ``place.py``) from one definition to the
other, and ``undo.py`` changes it back if that fails, by ``defining.py``, ``power.py``,
``hotswap.py``, ``checks.py``, and ``guarded_trial.py``, which makes sure that no guest is left half
changed. ``rollback.py`` undoes an earlier run with the text that it saved (``originals.py``).
``files.py`` does all of that for a definition in a file.
"""
