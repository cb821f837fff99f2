"""Measure a change that is applied: before and after, in the design that suits it."""
