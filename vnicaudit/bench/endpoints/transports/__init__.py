"""One file per transport; its name is the scheme of its URLs (``reach/transport.py``)."""
