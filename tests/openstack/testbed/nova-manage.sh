#!/bin/bash
# nova-manage.sh HOW TOKEN ARGUMENTS...: nova-manage on a controller where one thing goes wrong, with
# the first set there is while TOKEN exists. It is TOKEN.used then.
how=$1
token=$2
shift 2
if [ "$2" != set ] || ! mv "$token" "$token.used" 2>/dev/null; then
    exec nova-manage "$@"
fi
case $how in
fails)
    echo "An error has occurred: the database is away" >&2
    exit 255
    ;;
dies)
    kill -KILL $$
    ;;
loses)
    nova-manage "$@"
    kill -KILL $$
    ;;
late)
    (
        sleep 5
        exec nova-manage "$@"
    ) </dev/null >/dev/null 2>&1 &
    kill -KILL $$
    ;;
hangs)
    exec sleep 1000
    ;;
slow)
    sleep 1
    exec nova-manage "$@"
    ;;
esac
