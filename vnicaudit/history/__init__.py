"""The memory of a fleet: NICs and findings as intervals, by audit, in SQLite or PostgreSQL."""
