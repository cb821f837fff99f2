"""Profiles of measurements, as text or as ``vnicaudit.profiles/1``."""
