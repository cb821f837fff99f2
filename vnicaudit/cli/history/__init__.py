"""The commands of ``vnicaudit history``."""
