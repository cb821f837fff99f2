"""Guard rails: one file each, what must hold whatever the throughput."""
