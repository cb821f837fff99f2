"""Change definitions, and undo the changes: of a domain on a live host, or in a file.

``driver.py`` is the driver for domains, ``file.py`` that for files; both undo a former run with the
text that it saved. ``prepare.py`` checks the present state once more, refuses, and makes a
transaction (``definition_transactions.py``) of the steps on one domain. ``driving.py`` changes the
domain from one definition to the other, and back if that fails, so that no guest is left half
changed, by ``hotswap.py`` and ``checks.py``.
"""
