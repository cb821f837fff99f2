"""Shell completion: the scripts for bash, zsh and fish, and the answers to them."""

COMPLETES = "_VNICAUDIT_COMPLETE"
"""Environment variable set by the scripts: vnicaudit is to complete a command line."""
