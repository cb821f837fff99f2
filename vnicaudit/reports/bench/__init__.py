"""Measurement in, text out."""
