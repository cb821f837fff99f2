"""The page: an audit or a fleet as one self-contained HTML file.

To show something, make a :class:`~vnicaudit.reports.page.from_audit.PageData` and pass it to
:func:`~vnicaudit.reports.page.summary.render_page`; the report format ``html`` does so from the
stream of an audit. Script, style and frame are in ``templates/page/``.
"""
