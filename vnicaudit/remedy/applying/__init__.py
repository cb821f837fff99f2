"""Apply a plan, and roll it back: journal first, then act, then check.

``apply.py`` starts a run or resumes the unfinished one, ``rollback.py`` rolls one back,
``runner.py`` goes through its units (``unit_queue.py``), and keeps those that must not be down
together from being changed at the same time. ``driver.py`` is the interface of the drivers, one for
each kind of unit, made for a ``session.py``, and the context that a driver gets (``BegunUnit``,
``UnitWork``), and the loop that checks whether a change helped. ``domains/``
changes definitions, on live hosts and in files, ``clouds/`` changes objects of a cloud.
``journal/`` is the record of each run; from it ``history.py`` tells the outcome of each run, and
``pruning.py`` whether its changes still hold, and finishes or undoes the work that a dead process
left half done.
"""
