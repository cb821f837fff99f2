"""Reports of the commands that audit: one NIC explained, the rules."""
