"""Items of files: what is no domain is listed, because the record of a domain is loaded late."""

from typing import get_args

from vnicaudit.audit.reading import files
from vnicaudit.model import file_kind, report
from vnicaudit.model.cluster import ClusterFacts
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Description, NamedDescription
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image


def members() -> set[type]:
    """The types of items."""
    names = {**vars(file_kind), **vars(report), "Domain": Domain, "Description": Description}
    written: object = file_kind.Item
    return set(get_args(eval(str(written), names)))


def test_all_but_domains_are_listed() -> None:
    assert members() - {Domain} == set(file_kind._OTHERS)


def test_what_gets_no_comments_is_listed() -> None:
    described = {Domain, Image, Flavor, Preference, ClusterFacts}
    abstract: set[type] = {Description, NamedDescription, *Image.__bases__}
    below: set[type] = set().union(*(type.__subclasses__(base) for base in abstract))
    kinds = (members() | below) - abstract
    assert kinds - described == set(files._WITHOUT) == {*set(files._WITHOUT), NovaConfig}
