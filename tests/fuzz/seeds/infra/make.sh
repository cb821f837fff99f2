#!/bin/bash
# openstack image create --property hw_vif_model=e1000 commented
set -e
ID=$(openstack --os-cloud prod image create -f value -c id \
    --disk-format qcow2 --property "hw_vif_model=e1000" \
    --property=os_distro='ubuntu22.04' --file "$FILE" "my image" 2>/dev/null)
cat <<EOF >readme
openstack image create --property hw_vif_model=e1000 text
EOF
echo openstack image create --property hw_vif_model=e1000 echoed
for name in a b; do
  sudo -E openstack flavor set --property hw:vif_multiqueue_enabled=$MQ "$name" >/dev/null 2>&1
done
if [ -n "$OLD" ]; then openstack flavor set --property hw:vif_multiqueue_enabled=true m1; fi
