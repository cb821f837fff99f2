"""Options shared by several commands, and how they are interpreted."""

COMPLETES = "_VNICAUDIT_COMPLETE"
"""Environment variable set by a shell's completion script: vnicaudit is to complete a command
line."""
