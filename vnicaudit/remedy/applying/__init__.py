"""Carry a plan out, and take it back: journal first, then act, then check.

``apply.py`` begins a run or finds the unfinished one, ``rollback.py`` takes one back, ``runner.py``
goes through its units (``unit_queue.py``) by the ``schedule.py``; ``exclusion_locks.py`` keeps
those apart that must not be away together. What is true of one kind of unit, its ``driver.py``
knows, made for a ``session.py``; ``work.py`` is what each driver has, ``verifying.py`` the loop
that checks whether it helped. ``drivers/`` has those of the program: ``domains/`` changes
definitions, on live hosts and in files, ``clouds/`` what is in a cloud. ``journal/`` is what is
remembered; from it ``history.py`` says what became of each run, ``in_effect.py`` whether it still
holds, and ``recovering.py`` brings back what a dead process left in the middle."""
