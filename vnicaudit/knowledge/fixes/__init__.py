"""Fixes worded for the owner of a definition; the one place that renders them in English."""
