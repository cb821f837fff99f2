"""Tests of the page of an audit or a fleet: what is written, and what real Chromium makes of it."""
