"""The audit of a fleet: hosts are read by threads in parallel, judged by one thread, and stored in
a spool."""
