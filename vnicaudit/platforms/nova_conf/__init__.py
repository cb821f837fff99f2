"""nova.conf: oslo.config files and folders, and templates of them.

``recognise.py`` tells a Nova configuration from other ini files, ``template.py`` takes template
syntax out, ``read.py`` parses one file, ``siblings.py`` adds the files Nova reads beside it.
"""
