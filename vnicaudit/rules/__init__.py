"""The rules: one file per rule; a file in this folder *is* registered.

A rule module imports only :mod:`vnicaudit.model` and :mod:`vnicaudit.knowledge`; its docstring is
its manual page, whose first line is the summary. See docs/how-to/add-a-rule.md.
"""
