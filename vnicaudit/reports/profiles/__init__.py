"""Profiles of measurements: for people, or as ``vnicaudit.profiles/1``."""
