"""Report in, text out. The output formats of an audit are in :mod:`vnicaudit.reports.formats`, one
module for each, or for several that are alike (``lines.py``, ``ci.py``).

Nothing here prints. Code shared by the formats (escaping, wording, wrapping) is outside that
folder, because every module in it holds formats.
"""
