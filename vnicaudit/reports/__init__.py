"""Report in, text out: one module per output format, in :mod:`vnicaudit.reports.formats`.

Nothing here prints. Code shared by the formats (escaping, wording, wrapping) is outside that
folder, because every module in it is a format.
"""
