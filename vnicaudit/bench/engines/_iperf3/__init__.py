"""Parts of the engine iperf3."""
