"""Report in, text out: one file per output format, in :mod:`vnicaudit.reports.formats`.

Nothing here prints. What every format shares (escaping, wording, wrapping) stands beside that
folder; a file inside it *is* a format.
"""
