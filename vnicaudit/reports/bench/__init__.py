"""A measurement in, text out. A file in ``formats/`` is a format; what formats share stands in the
folders beside it: ``words/``, ``tables/``, ``document/`` (``vnicaudit.bench/1`` itself) and
``charts/``, whose files are pictures and no text.
"""
