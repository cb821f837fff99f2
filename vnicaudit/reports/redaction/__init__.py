"""Replaces everything that identifies a site by pseudonyms: records in, records of the same shape
out.

The same key gives the same pseudonyms, so that two reports of one site can be compared; without the
key, nobody can tell what they stand for (docs/how-to/redact.md).
"""
