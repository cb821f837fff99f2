"""Notifications of new findings: once for each finding, channel and day, with secrets by
reference."""
