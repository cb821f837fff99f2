"""The record of a run: enough to resume it, or to roll it back, after any crash.

``state.py`` is the folder of all runs, with its locks, and what the journal says of one unit.
``events.py`` is the request of a run and the kinds of lines in its journal: a unit's lines begin
with a transaction and end with a result. ``journal_file.py`` is the journal, the form of its lines,
which reveals damage, and the saved texts of a unit. ``past_run.py`` reads everything again, and
recovers what it can from damaged records.
"""
