"""The drivers that prepare, change, verify and roll back units: one for each kind of unit."""
