"""Other places (hosts, containers, pods, network namespaces, this machine): programs are run there
by transports, in bounded time and with bounded output, and facts read in one round trip."""
