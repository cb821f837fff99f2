"""nova.conf: oslo.config files and folders, and templates of them.

``recognise.py`` distinguishes a Nova configuration from other ini files, ``read.py`` parses one
file (also one from before oslo.config), ``siblings.py`` adds the files that Nova reads beside it,
``copies.py`` recognises backup copies, ``write.py`` changes options.
"""
