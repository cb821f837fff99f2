"""Parts of the engine netperf."""
