"""vnicaudit: audits every virtual NIC, says what it really is, and what is wrong with it."""

__version__ = "0.1.0"
