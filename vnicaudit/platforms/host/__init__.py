"""Facts of the host this program runs on: one file per fact, each with a reader and a pure function
that judges what was read. ``tree.py`` reads files below the host's root, ``read.py`` combines the
facts. Nothing is written and no module is loaded.
"""
