#!/bin/sh
# In the testbed this is /usr/bin/sudo: everybody is root there. `sudo nova-rootwrap CONF COMMAND ...`
# is COMMAND ....
case $1 in *-rootwrap) shift 2 ;; esac
exec "$@"
