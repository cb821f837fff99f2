"""Inventories: reads files, Ansible, clouds and standard input into the hosts of a fleet, with
sites, groups and options, and selects hosts."""
