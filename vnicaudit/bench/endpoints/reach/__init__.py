"""How an end is reached: the contract of a transport, processes, and what runs on a host."""
