"""What OpenStack needs and what it is made of, started in an order that works."""

import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

from tests.openstack.api import Api
from tests.openstack.machine import CREDENTIALS, DATABASE, KEYSTONE, MESSAGES, TESTBED, Machine
from tests.rig.errors import Missing
from tests.rig.process import log, wait_for

# where Debian has them: the first one's wrapper wants a user of its own, and next to the second
# there may be one for DPDK, which offers Neutron ports of another kind
RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"
VSWITCHD = "/usr/lib/openvswitch-switch/ovs-vswitchd"
_PROGRAMS = (
    "ip", "libvirtd", "mariadbd", "mysql", "mysql_install_db", "nsenter", "ovs-vsctl",
    "ovsdb-server", "ovsdb-tool", "qemu-img", "qemu-system-x86_64", "unshare", "virsh", "virtlogd",
    RABBITMQ, VSWITCHD,
)  # fmt: skip
# Guests do not use KVM, but to libvirt a host without it is none of KVM (see testbed/qemu.sh).
_DEVICES = ("/dev/kvm", "/dev/net/tun")
_DATABASES = ("keystone", "glance", "placement", "neutron", "nova", "nova_api", "nova_cell0")
_CATALOG = {
    "image": ("glance", "http://127.0.0.1:9292"),
    "placement": ("placement", "http://127.0.0.1:8778"),
    "network": ("neutron", "http://127.0.0.1:9696"),
    "compute": ("nova", "http://127.0.0.1:8774/v2.1"),
}


def require_programs() -> None:
    """Raise Missing unless all that is started is there."""
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    absent += [device for device in _DEVICES if not Path(device).exists()]
    if absent:
        raise Missing(f"{', '.join(absent)} cannot be found; see scripts/packages/openstack.apt")


def start_all(machine: Machine) -> None:
    """Bring a fresh machine up, until all of OpenStack answers."""
    machine.namespaces.output("bash", TESTBED / "private.sh", TESTBED, machine.state)
    _start_foundations(machine)
    log("openstack: databases and services")
    with ThreadPoolExecutor() as pool:
        catalog = pool.submit(_start_keystone, machine)
        parts = (_start_nova, _start_glance, _start_neutron)
        for started in [pool.submit(part, machine, catalog) for part in parts]:
            started.result()
    for port in (8778, 9292, 9696, 8774):
        machine.wait_for_port(port)


def wait_for_host(machine: Machine) -> None:
    """Wait until a server can be made: Nova has a host for it, Neutron an agent there."""
    api = Api(machine.namespaces, CREDENTIALS)
    wait_for(lambda: list(api.compute.hypervisors()), "Nova has a hypervisor")
    wait_for(lambda: list(api.network.agents(host="cmp1")), "Neutron has an agent")


def _start_foundations(machine: Machine) -> None:
    """MariaDB, RabbitMQ, Open vSwitch, libvirt."""
    files, log_folder = f"--datadir={machine.state}/mysql", machine.state / "log"
    socket = "--socket=/run/mysqld/mysqld.sock"
    # in memory: each of some hundred migrations is synced, whatever the server is told to leave
    machine.output("mkdir", "-p", f"{machine.state}/mysql")
    machine.output("mount", "-t", "tmpfs", "-o", "size=4G", "tmpfs", f"{machine.state}/mysql")
    machine.output(
        "mysql_install_db", "--no-defaults", "--user=root", files, "--skip-test-db",
        "--auth-root-authentication-method=normal",
    )  # fmt: skip
    machine.start(
        "mariadb", "mariadbd", "--no-defaults", "--user=root", files, socket,
        "--bind-address=127.0.0.1", "--innodb-flush-log-at-trx-commit=0", "--max-connections=500",
    )  # fmt: skip
    rabbit = {
        "RABBITMQ_NODENAME": "rabbit@localhost", "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "ERL_EPMD_ADDRESS": "127.0.0.1", "RABBITMQ_LOG_BASE": str(log_folder),
        "RABBITMQ_MNESIA_BASE": f"{machine.state}/rabbit",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{machine.state}/rabbit/plugins",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +S 1",
    }  # fmt: skip
    machine.start("rabbitmq", RABBITMQ, env=rabbit)
    _start_open_vswitch(machine)
    machine.start("virtlogd", "virtlogd")
    machine.start("libvirtd", "libvirtd")
    machine.wait_for_sql()
    for name in _DATABASES:
        machine.sql(f"create database {name} charset utf8mb3")


def _start_open_vswitch(machine: Machine) -> None:
    database = "/etc/openvswitch/conf.db"
    machine.output("mkdir", "-p", "/etc/openvswitch")
    machine.output("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
    ends = ("--remote=punix:/run/openvswitch/db.sock", "--remote=ptcp:6640:127.0.0.1")
    machine.start("ovsdb", "ovsdb-server", database, *ends, "--pidfile")
    machine.wait_for_port(6640)
    machine.output("ovs-vsctl", "--no-wait", "init")
    machine.start("vswitchd", VSWITCHD, "--pidfile")
    bridge = ("br-ex", "--", "set", "bridge", "br-ex", "datapath_type=netdev")
    machine.output("ovs-vsctl", "add-br", *bridge)


def _start_keystone(machine: Machine) -> None:
    """Keystone and the catalog: Nova's services read it when they start."""
    machine.output("keystone-manage", "db_sync")
    ends = [f"--bootstrap-{who}-url" for who in ("admin", "internal", "public")]
    urls = [word for end in ends for word in (end, f"{KEYSTONE}/")]
    region = ("--bootstrap-region-id", "RegionOne")
    machine.output("keystone-manage", "bootstrap", "--bootstrap-password", "pw", *region, *urls)
    machine.serve("keystone", 5000, "keystone.wsgi.api")
    machine.wait_for_port(5000)
    identity = Api(machine.namespaces, CREDENTIALS).identity
    # all services run as one user
    admin = identity.find_user("admin", ignore_missing=False)
    project = identity.find_project("admin", ignore_missing=False)
    role = identity.find_role("service", ignore_missing=False)
    identity.assign_project_role_to_user(project, admin, role)
    for kind, (name, url) in _CATALOG.items():
        service = identity.create_service(type=kind, name=name)
        for interface in ("public", "internal", "admin"):
            identity.create_endpoint(
                service_id=service.id, interface=interface, region_id="RegionOne", url=url
            )


def _start_nova(machine: Machine, catalog: Future[None]) -> None:
    machine.output("nova-manage", "api_db", "sync")
    # what nova-manage cell_v2 map_cell0 and create_cell write
    machine.sql(f"""insert into nova_api.cell_mappings
        (created_at, uuid, name, transport_url, database_connection, disabled) values
        (now(), '{UUID(int=0)}', 'cell0', 'none:///', '{DATABASE}/nova_cell0?charset=utf8', 0),
        (now(), '{uuid4()}', 'cell1', '{MESSAGES}', '{DATABASE}/nova?charset=utf8', 0)""")
    machine.output("nova-manage", "db", "sync")
    catalog.result()
    machine.wait_for_port(5672)
    # nova-compute waits for its answer, 10 s at a time
    machine.start("nova-conductor", "nova-conductor")
    machine.start("nova-scheduler", "nova-scheduler")
    start_nova_api(machine)
    machine.start("nova-compute", "nova-compute")


def start_nova_api(machine: Machine) -> None:
    """Start Nova's API, which was a server of its own in older releases."""
    if (machine.nova / "bin/nova-api-os-compute").exists():
        machine.start("nova", "nova-api-os-compute")
    else:
        machine.serve("nova", 8774, "nova.wsgi.osapi_compute")


def _start_glance(machine: Machine, catalog: Future[None]) -> None:
    """Placement too."""
    machine.output("placement-manage", "db", "sync")
    machine.output("glance-manage", "db_sync")
    catalog.result()
    machine.serve("placement", 8778, "placement.wsgi.api")
    machine.serve("glance", 9292, "glance.wsgi.api")


def _start_neutron(machine: Machine, catalog: Future[None]) -> None:
    machine.output("neutron-db-manage", "upgrade", "heads")
    catalog.result()
    machine.wait_for_port(5672)
    machine.serve("neutron", 9696, "neutron.wsgi.api")
    ml2 = ("--config-file", "/etc/neutron/plugins/ml2/ml2_conf.ini")
    both = ("--config-file", "/etc/neutron/neutron.conf", *ml2)
    machine.start("neutron-rpc", "neutron-rpc-server", *both)
    machine.start("neutron-ovs", "neutron-openvswitch-agent", *both)
