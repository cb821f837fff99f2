"""``vnicaudit.bench/1``: written as a stream, read without holding what tools said."""
