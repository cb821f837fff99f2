"""No engine: a part of one."""
