"""nova.conf: oslo.config files and folders, and templates of them.

``recognise.py`` tells a Nova configuration from other ini files, ``read.py`` parses one file (of
the time before oslo.config, too), ``siblings.py`` adds the files Nova reads beside it,
``resolve.py`` gives old names and references their meaning, ``options.py`` knows which release has
which option.
"""
