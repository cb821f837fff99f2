"""Inventories: from files, Ansible, clouds and standard input to the hosts of a fleet, their sites,
groups and options, and the choice of some of them."""
