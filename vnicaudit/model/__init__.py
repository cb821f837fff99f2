"""The records of this program: frozen, without I/O, with msgspec as the only library. Imported by
everything else."""
