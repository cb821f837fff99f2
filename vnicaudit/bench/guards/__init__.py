"""Guard rails: one file each, conditions that must hold whatever the throughput."""
