"""The memory of a run: enough to carry it on, or to take it back, after any crash.

``state.py`` is the folder that runs are kept in, and its locks. ``run_request.py`` is what was
asked for, ``events.py`` each kind of line, ``journal_line.py`` the form of a line, which shows
damage, ``journal_file.py`` the journal, ``notes.py`` what it says of one unit. A unit begins with a
``transaction.py``, of which all drivers read the ``unit_head.py``, and ends with a ``result.py``.
``kept_texts.py`` keeps what it was, ``past_run.py`` reads it all again, and ``salvage.py`` says
what is known where that is damaged."""
