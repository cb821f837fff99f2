"""Thousands of servers: a second compute host with Nova's fake driver, and servers copied to it.

Building a server takes seconds, whatever the driver; so one is built on that host, and its rows
in the databases are copied: server, network info, port, binding, address. To the APIs copies are
servers like any other, with ports; Placement knows nothing of them, so they are only to be read.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.openstack.cloud import Cloud, wait_for_service
from tests.openstack.servers import Server, create
from tests.rig.errors import RigError

HOST = "fake1"
# of a copy's ids, whose last digits are its number
_SERVER, _PORT = "5ca1e000-0000-4000-8000-", "5ca1e001-0000-4000-8000-"
_GAP = 10_000
"""Between the attributes there are and those of copies: what is made meanwhile has room there."""
# SQL: MariaDB's tables seq_M_to_N have the numbers from M to N in their column seq
_NUMBER = "lpad(hex(seq), 12, '0')"
_ADDRESS = "concat('10.9.', 200 + (seq >> 8), '.', seq & 255)"
_MAC = "concat('fa:16:40:00:', insert(lpad(lower(hex(seq)), 4, '0'), 3, 0, ':'))"
_OF_SERVER = (
    "nova.instance_extra", "nova.instance_system_metadata", "nova.instance_info_caches",
    "nova.block_device_mapping", "nova_api.instance_mappings", "nova_api.request_specs",
)  # fmt: skip
_OF_PORT = (
    "neutron.ml2_port_bindings", "neutron.ml2_port_binding_levels", "neutron.portsecuritybindings",
    "neutron.ipallocations",
)  # fmt: skip


@contextmanager
def many_servers(
    cloud: Cloud, number: int, *, image: str = "legacy", hypervisor: str = "fake"
) -> Iterator[Callable[[int], None]]:
    """That many servers of one image, each with a port on the network ``net``, on host fake1, of
    which Nova says that it has this ``hypervisor``: rules judge servers that QEMU runs. Calling
    what is given makes as many more."""
    with _fake_host(cloud), _one_server(cloud, image) as original, _called(cloud, hypervisor):
        copies = _Copies(cloud, original)
        try:
            copies.make(number - 1)
            yield copies.make
        finally:
            copies.remove()


@contextmanager
def _fake_host(cloud: Cloud) -> Iterator[None]:
    """The second compute host. Its Neutron agent is a row that says it was heard of in 2099."""
    values = {"id": "uuid()", "host": f"'{HOST}'", "heartbeat_timestamp": "'2099-01-01'"}
    _copy(cloud, "neutron.agents", "host='cmp1'", values, 1)
    cloud.machine.start("nova-fake", "nova-compute", "--config-file", "/etc/nova/nova-fake.conf")
    try:
        wait_for_service(cloud, HOST)
        yield
    finally:
        cloud.machine.stop("nova-fake")
        for service in cloud.api.compute.services(host=HOST):
            cloud.api.compute.delete_service(service)
        cloud.sql(f"delete from neutron.agents where host='{HOST}'")


@contextmanager
def _called(cloud: Cloud, hypervisor: str) -> Iterator[None]:
    """The second host has that hypervisor, whatever its nova-compute writes every minute."""
    named = f"if(new.host='{HOST}', '{hypervisor}', new.hypervisor_type)"
    cloud.sql(
        "create trigger nova.vnicaudit_scale before update on nova.compute_nodes for each row "
        f"set new.hypervisor_type={named};"
        f"update nova.compute_nodes set deleted=deleted where host='{HOST}'"
    )
    try:
        yield
    finally:
        cloud.sql("drop trigger nova.vnicaudit_scale")


@contextmanager
def _one_server(cloud: Cloud, image: str) -> Iterator[Server]:
    server = _asked_for(cloud, image)
    try:
        try:
            server.wait("ACTIVE")
        except RigError:  # once: the machine may have been too busy for one of Nova's timeouts
            _remove(server)
            server = _asked_for(cloud, image)
            server.wait("ACTIVE")
        yield server
    finally:
        _remove(server)


def _asked_for(cloud: Cloud, image: str) -> Server:
    zone = f"nova:{HOST}"
    return create(cloud, image, "m1", "net", name="scale-0", availability_zone=zone)


def _remove(server: Server) -> None:
    server.delete()
    server.wait_until_gone()


class _Copies:
    """Of one server and its port."""

    def __init__(self, cloud: Cloud, original: Server) -> None:
        self._cloud = cloud
        self._server = original.id
        (port,) = cloud.api.network.ports(device_id=original.id)
        self._port = port.id
        self._mac = port.mac_address
        self._address = port.fixed_ips[0]["ip_address"]
        # Neutron numbers on from the highest there ever was: the next copies are behind these
        ((last,),) = cloud.sql("select max(id) from neutron.standardattributes")
        self._attribute = int(last) + _GAP
        self._number = 0

    def make(self, number: int) -> None:
        """Copy them that often, besides the copies that there are."""
        first, self._number = self._number + 1, self._number + number
        for table, which, values in (*self._of_server(), *self._of_port()):
            _copy(self._cloud, table, which, values, self._number, first)

    def remove(self) -> None:
        """Remove all copies."""
        servers, ports = f"like '{_SERVER}%'", f"like '{_PORT}%'"
        statements = [f"delete from {table} where instance_uuid {servers}" for table in _OF_SERVER]
        statements += [f"delete from {table} where port_id {ports}" for table in _OF_PORT]
        statements += [
            f"delete from nova.instances where uuid {servers}",
            f"delete from neutron.ports where id {ports}",
            "delete from neutron.standardattributes where id between"
            f" {self._attribute + 1} and {self._attribute + self._number}",
        ]
        self._cloud.sql(";".join(statements))

    def _of_server(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Table, which of its rows, and what is other in the copy."""
        server, name = f"concat('{_SERVER}', {_NUMBER})", "concat('scale-', seq)"
        info = f"replace(network_info, '{self._port}', concat('{_PORT}', {_NUMBER}))"
        info = f"replace({info}, '{self._mac}', {_MAC})"
        info = f"replace({info}, '\"{self._address}\"', concat('\"', {_ADDRESS}, '\"'))"
        own = {
            "nova.block_device_mapping": {"uuid": "uuid()"},
            "nova.instance_info_caches": {"network_info": info},
        }
        names = {"display_name": name, "hostname": name}
        yield "nova.instances", f"uuid='{self._server}'", {"id": "null", "uuid": server, **names}
        for table in _OF_SERVER:
            values = {"id": "null", "instance_uuid": server, **own.get(table, {})}
            yield table, f"instance_uuid='{self._server}'", values

    def _of_port(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        port, attribute = f"concat('{_PORT}', {_NUMBER})", f"{self._attribute} + seq"
        which = f"id=(select standard_attr_id from neutron.ports where id='{self._port}')"
        yield "neutron.standardattributes", which, {"id": attribute}
        yield (
            "neutron.ports",
            f"id='{self._port}'",
            {
                "id": port,
                "device_id": f"concat('{_SERVER}', {_NUMBER})",
                "mac_address": _MAC,
                "standard_attr_id": attribute,
            },
        )
        for table in _OF_PORT:
            own = {"ip_address": _ADDRESS} if table == "neutron.ipallocations" else {}
            yield table, f"port_id='{self._port}'", {"port_id": port, **own}


def _copy(
    cloud: Cloud, table: str, which: str, values: Mapping[str, str], last: int, first: int = 1
) -> None:
    """Copy rows of a table, with other values (SQL; ``seq`` is the copy's number)."""
    schema, name = table.split(".")
    rows = cloud.sql(
        "select column_name from information_schema.columns"
        f" where table_schema='{schema}' and table_name='{name}'"
    )
    columns = [column for (column,) in rows]
    into = ", ".join(f"`{column}`" for column in columns)
    what = ", ".join(values.get(column, f"`{column}`") for column in columns)
    source = f"{table}, {schema}.seq_{first}_to_{last} where {which}"
    cloud.sql(f"insert into {table} ({into}) select {what} from {source}")
