"""Notifications of new findings: once per finding, channel and day; secrets are given by
reference."""
