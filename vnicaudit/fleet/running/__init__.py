"""The audit of a fleet: hosts read side by side by threads, judged by one, kept in a spool."""
