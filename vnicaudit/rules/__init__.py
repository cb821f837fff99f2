"""The rules: one file per rule, and a file in this folder *is* registered.

A rule module imports nothing but :mod:`vnicaudit.model`; its docstring is its manual page, whose
first line is the summary. See docs/how-to/add-a-rule.md.
"""
