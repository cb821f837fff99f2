"""Combines findings of a fleet into changes, ranked by what it costs not to make them. Nothing is
read here: readings and measurements are passed in."""
