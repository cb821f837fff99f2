"""Reports of the commands that audit: formats of findings, one NIC explained, the rules."""
