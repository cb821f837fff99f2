"""Findings of a fleet, put together to changes and ranked by what it costs to leave them undone.
Nothing is read here: readings and measurements are handed in."""
