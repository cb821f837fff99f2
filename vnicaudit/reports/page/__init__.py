"""The page: an audit or a fleet as one self-contained HTML file.

To show something, add each subject to an :class:`~vnicaudit.reports.page.summary.HtmlPage`, and
finish it; the report format ``html`` does so from the stream of an audit. Script, style and frame
are in ``templates/page/``.
"""
