"""One file per format of ``vnicaudit audit``. A file in this folder is registered."""
