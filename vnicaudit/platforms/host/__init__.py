"""Facts of the host this program runs on: ``tree.py`` reads files below the host's root,
``read.py`` judges what was read by pure functions. Nothing is written and no module is loaded.
"""
