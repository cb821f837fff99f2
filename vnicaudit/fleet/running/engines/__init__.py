"""Engines that read hosts: this process (``threads``), or the workers of a Dask cluster (``dask``).
The order of hosts, retries and pauses are the same for all."""
