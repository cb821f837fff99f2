"""Parts of the engine dnsperf."""
