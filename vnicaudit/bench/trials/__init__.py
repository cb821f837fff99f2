"""Measure a change while it is applied: before and after, in the design that suits it."""
