"""Measurement in, text out. ``sections.py`` is the one model of a report for people; each module in
``formats/`` is a format."""
