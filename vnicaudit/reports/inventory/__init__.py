"""Inventories of fleets, as text and as JSON."""
