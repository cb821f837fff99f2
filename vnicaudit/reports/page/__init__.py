"""The page: an audit or a fleet as one HTML file that needs nothing but itself.

Who has something to show makes a :class:`~vnicaudit.reports.page.data.PageData` and hands it to
:func:`~vnicaudit.reports.page.render.render_page`; the report format ``html`` does so from the
stream of an audit. Script, style and shell are in ``templates/page/``.
"""
