"""Our own request and response generator, and its latency histogram."""
