"""Facts of the host this program runs on: one file per fact, each a pure judgement of what was
found and a reader that finds it. ``tree.py`` reads files below the host's root, ``read.py`` puts
the facts together. Nothing is written and no module is loaded.
"""
