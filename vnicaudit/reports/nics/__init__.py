"""What ``vnicaudit nics`` prints: the resolved NICs, as text or as ``vnicaudit.nics/1``."""
