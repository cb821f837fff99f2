"""Files of every kind that is read, with a secret in each place that may hold one."""

from pathlib import Path

SECRET = "S3cr3tW0rd"
"""In every one of them, and nowhere else."""

NOVA_CONF = f"""\
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
transport_url = rabbit://nova:{SECRET}@ctl1:5672,two:{SECRET}@ctl2:5672/
use_rootwrap_daemon = true
libvirt_use_virtio_for_bridges = True
metadata_proxy_shared_secret = {SECRET}
[libvirt]
virt_type = kvm
rbd_secret_uid = {SECRET}
live_migration_inbound_adr = tls://u:{SECRET}@h
rx_queue_sizes = $admin_password:{SECRET}
rx_queue_size = 2048
live_migration_inbound_addr = 10.0.0.7
[neutron]
auth_url = http://nova:{SECRET}@ctl1:5000/v3
admin_password = {SECRET}
    {SECRET}continued
[database]
connection = mysql+pymysql://nova:{SECRET}@10.0.0.1/nova?charset=utf8
[cache]
memcache_secret_key = "{SECRET}"
[barbican]
passwrod = {SECRET}
client-key-data = {SECRET}
bindpw={SECRET}
token = {SECRET}
[keystone_authtoken]
ssl_key_password={SECRET}
"""

DOMAIN_XML = f"""\
<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>mail-01</name>
  <uuid>6f1f9a90-6f0c-4f2a-9bb4-2b4bd9b9c001</uuid>
  <metadata>
    <app:a xmlns:app='urn:a'><app:adminPassword>{SECRET}</app:adminPassword></app:a>
  </metadata>
  <vcpu>2</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <cmdline>ks=http://kick:{SECRET}@10.0.0.1/ks rd.iscsi.password={SECRET}</cmdline>
  </os>
  <sysinfo type='fwcfg'><entry name='opt/com.coreos/config'>{SECRET}</entry></sysinfo>
  <devices>
    <disk type='network' device='disk'>
      <driver name='qemu' type='raw'/>
      <source protocol='https' name='a'><host name='h'/>
        <cookies><cookie name='id'>{SECRET}</cookie></cookies></source>
      <auth username='u'><secret type='ceph' uuid='6f1f9a90-6f0c-4f2a-9bb4-2b4bd9b9c002'/></auth>
      <target dev='vda' bus='virtio'/>
    </disk>
    <graphics type='vnc' port='-1' passwd='{SECRET}'/>
    <interface type='bridge'>
      <source bridge='br0'/><model type='virtio'/><driver queues='8'/>
    </interface>
    <graphics type='spice' passwd="{SECRET}
 {SECRET}"/>
    <interface type='bridge'><source bridge='br0'/><model type='rtl8139'/></interface>
  </devices>
  <qemu:commandline>
    <qemu:arg value='-object'/>
    <qemu:arg value='secret,id=s0,data={SECRET}'/>
    <qemu:arg value='--password'/>
    <qemu:arg value='{SECRET}'/>
    <qemu:arg value='-spice'/>
    <qemu:arg value='port=5999,password={SECRET}'/>
    <qemu:env name='VAULT_TOKEN' value='{SECRET}'/>
  </qemu:commandline>
</domain>
"""

QEMU = (
    "qemu-system-x86_64 -name mail-02 -m 64 -machine q35 -enable-kvm "
    f"-object secret,id=s0,data={SECRET} -spice port=5900,password={SECRET} "
    f'-object \'{{"qom-type":"secret","id":"s1","data":"{SECRET}"}}\' '
    f"-drive file=rbd:pool/a:id=x:key={SECRET}:auth_supported=cephx,format=raw "
    f"-drive file=https://user:{SECRET}@h/a.img,file.cookie={SECRET} "
    f"-fw_cfg name=opt/com.coreos/config,string={SECRET} "
    "-netdev tap,id=n0 -device rtl8139,netdev=n0,mac=52:54:00:00:00:01\n"
)

KUBEVIRT = f"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
# args: ["--token", "{SECRET}", "--password",
#   "{SECRET}"]
metadata: {{name: mail-03, annotations: {{admin-password: {SECRET}, note: x}}}}
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        cpu: {{cores: 2}}
        devices:
          interfaces:
            - {{name: default, model: e1000, masquerade: {{}}}}
      networks:
        - {{name: default, pod: {{}}}}
      volumes:
        - name: init
          cloudInitNoCloud:
            userData: |
              #cloud-config
              password: {SECRET}
              chpasswd:
                list: |
                  root:{SECRET}
"""

HEAT = f"""\
heat_template_version: 2018-08-31
resources:
  image:
    type: OS::Glance::WebImage
    properties:
      name: debian
      location: https://mirror:{SECRET}@images.example.org/debian.img
      disk_format: qcow2
      container_format: bare
      properties:
        hw_vif_model: e1000
  server:
    type: OS::Nova::Server
    properties:
      admin_pass: {SECRET}
      user_data: |
        #!/bin/sh
        echo {SECRET}
"""

TERRAFORM = f"""\
provider "openstack" {{
  user_name = "admin"
  password  = "{SECRET}"
}}
resource "openstack_images_image_v2" "debian" {{
  name             = "debian"
  container_format = "bare"
  disk_format      = "qcow2"
  image_source_url = "https://u:{SECRET}@images.example.org/debian.img"
  properties = {{
    hw_vif_model = "e1000"
  }}
}}
resource "openstack_compute_instance_v2" "a" {{
  admin_pass = "{SECRET}"
  user_data  = <<-EOF
{SECRET}
EOF
}}
"""

SHELL = f"""\
#!/bin/sh
export OS_PASSWORD={SECRET}
export OS_AUTH_URL=https://admin:{SECRET}@ctl1:5000/v3
OS_TOKEN={SECRET} openstack --os-password '{SECRET}' image create \\
  --property hw_vif_model=e1000 debian
openstack --os-password={SECRET} image list
openstack --os-password \\
  {SECRET} image list
curl -H 'X-Auth-Token: {SECRET}' https://ctl1/
"""

ANSIBLE = f"""\
- hosts: all
  vars:
    admin_password: {SECRET}
  tasks:
    - openstack.cloud.image:
        auth:
          auth_url: https://ctl1:5000
          password: "{SECRET}"
        name: debian
        properties:
          hw_vif_model: e1000
"""

FILES = {
    "nova.conf": NOVA_CONF,
    "mail-01.xml": DOMAIN_XML,
    "mail-02.txt": QEMU,
    "mail-03.yaml": KUBEVIRT,
    "heat.yaml": HEAT,
    "main.tf": TERRAFORM,
    "upload.sh": SHELL,
    "play.yml": ANSIBLE,
}


def _broken() -> dict[str, str]:
    """The same, each damaged so that a parser complains where the secret stands."""
    return {
        "cut.xml": DOMAIN_XML.replace(f"passwd='{SECRET}'", f"passwd='{SECRET}' passwd='{SECRET}'"),
        "tag.xml": DOMAIN_XML.replace(f"{SECRET}</cookie>", f"{SECRET}</{SECRET}>"),
        "entity.xml": DOMAIN_XML.replace(f">{SECRET}<", f">&{SECRET};<"),
        "conf/nova.conf": NOVA_CONF + f"no assignment, password {SECRET}\n",
        "vm.yaml": KUBEVIRT.replace(f"admin-password: {SECRET}", f"admin-password: [{SECRET}"),
        "dup.yaml": HEAT.replace("admin_pass:", f"'{SECRET}: a\n      admin_pass:"),
        "tab.yml": ANSIBLE.replace(f"password: \"{SECRET}\"", f"password: \"{SECRET}\\q\""),
        "anchor.yml": ANSIBLE.replace(f"admin_password: {SECRET}", f"admin_password: *{SECRET}"),
        "main.tf": TERRAFORM.replace(f'= "{SECRET}"', f'= "{SECRET}'),
        "quote.sh": SHELL.replace(f"'{SECRET}'", f"'{SECRET}"),
        "qemu.txt": QEMU.replace("-netdev tap,id=n0", f"-netdev 'tap,id=n0,password={SECRET}"),
    }  # fmt: skip


def plant(folder: Path) -> Path:
    """Write all of them; ``whole/`` can be read, ``broken/`` cannot."""
    for name, text in FILES.items():
        _write(folder / "whole" / name, text)
    for name, text in _broken().items():
        _write(folder / "broken" / name, text)
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
