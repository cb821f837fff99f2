"""One module per format of ``vnicaudit audit``; being in this folder registers it."""
