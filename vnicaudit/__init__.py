"""vnicaudit: audits every virtual NIC and reports its effective configuration and its problems."""

__version__ = "0.1.0"
