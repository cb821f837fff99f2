"""Parts of the engine pktgen."""
