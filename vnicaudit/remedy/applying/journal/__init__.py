"""The record of a run: enough to resume it, or to roll it back, after any crash.

``state.py`` is the folder of all runs, with its locks. ``run_request.py`` is the request of a run,
``events.py`` the kinds of lines in the journal, ``journal_line.py`` the form of a line, which
reveals damage, ``journal_file.py`` the journal, ``notes.py`` its lines about one unit. A unit's
lines begin with a ``transaction.py`` and end with a ``result.py``. ``kept_texts.py`` saves the
texts of a unit, ``past_run.py`` reads everything again, and ``salvage.py`` recovers
what it can from damaged records.
"""
