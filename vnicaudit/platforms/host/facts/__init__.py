"""Facts of a host: what is read for each, and a pure parser. Each module has one ``FACT``."""
