"""Output of ``vnicaudit nics``: the resolved NICs, as text or as ``vnicaudit.nics/1``."""
