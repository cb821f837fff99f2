#!/bin/bash
# daemon.sh LOG COMMAND...: start a program that goes on running; prints its process id.
set -eu
log=$1
shift
setsid "$@" </dev/null >>"$log" 2>&1 &
echo $!
