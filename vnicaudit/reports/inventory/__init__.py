"""Inventories of fleets: for people and for programs."""
