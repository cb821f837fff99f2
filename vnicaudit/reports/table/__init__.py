"""Tables: one model, and a writer each for terminals, Markdown, HTML and CSV.

What a table says is built from :mod:`vnicaudit.reports.table.model` by the report that knows it;
its text is as found, and each writer makes it harmless in its own way.
"""
