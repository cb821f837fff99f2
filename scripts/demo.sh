#!/bin/sh
# The demo: audits a sample host (libvirt's in-process test driver) and a sample nova.conf.
# It creates a virtual environment in .venv-demo, and installs packages after listing them.
# A second run installs nothing.
set -eu
# shellcheck source=scripts/setup.sh
. "$(dirname "$0")/setup.sh"

cd "$ROOT"
packages demo
environment "$ROOT/.venv-demo" -e "${ROOT}[libvirt]"
vnicaudit="$ROOT/.venv-demo/bin/vnicaudit"
host="test://$ROOT/templates/demo/host.xml"

say "vnicaudit nics $host"
"$vnicaudit" nics "$host"

say "vnicaudit audit $host templates/demo/nova.conf"
code=0
"$vnicaudit" audit "$host" templates/demo/nova.conf || code=$?
say "exit code $code: $([ "$code" = 1 ] && echo 'findings, as expected' || echo 'unexpected')"
[ "$code" = 1 ]
