"""Measurement in, text out. Each module in ``formats/`` is a format. Shared code is in the other
folders: ``words/``, ``tables/``, ``document/`` (reads and writes ``vnicaudit.bench/1``) and
``charts/`` (pictures)."""
