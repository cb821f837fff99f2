"""The nouns: frozen records, no I/O, no library but msgspec. Imported by everything else."""
