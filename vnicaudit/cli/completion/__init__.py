"""Shell completion: the scripts of bash, zsh and fish, and how they are answered."""

COMPLETES = "_VNICAUDIT_COMPLETE"
"""Set by the scripts of shells: the program is to complete a command line."""
