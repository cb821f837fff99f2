"""Tables: one model, and writers for terminals, Markdown, HTML and CSV.

A report builds its tables with :mod:`vnicaudit.reports.table.model`, from text as it was read; each
writer makes text safe in its own way.
"""
