"""The history of a fleet: NICs and findings as intervals between audits, in SQLite or
PostgreSQL."""
