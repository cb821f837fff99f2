"""Carry a plan out, and take it back: journal first, then act, then check.

``apply.py`` begins a run or finds the unfinished one, ``rollback.py`` takes one back, ``runner.py``
goes through its units by the ``schedule.py``. What is true of one kind of unit, its ``driver.py``
knows, made for a ``session.py``. ``prepare.py`` looks once more and makes a transaction of the
steps on one domain; ``preflight.py`` refuses. ``domain_forward.py`` takes the domain from one
definition to the other, ``domain_undo.py`` back where that fails: ``defining.py``, ``power.py``,
``hotswap.py``, ``domain_checks.py``; ``files.py`` does it for a file, and ``clouds/`` for what is
in a cloud; ``exclusion_locks.py`` keeps those apart that must not be away together. ``work.py`` is
what each driver has, ``transaction.py`` what it notes before it begins, ``verifying.py`` the loop
that checks whether it helped. ``journal.py``, ``run_request.py`` and ``state.py`` are what is
remembered, ``past_run.py`` reads it, ``history.py`` says what became of each run."""
