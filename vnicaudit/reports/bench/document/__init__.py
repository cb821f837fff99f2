"""``vnicaudit.bench/1``: written as a stream, and read without holding the raw output of tools."""
