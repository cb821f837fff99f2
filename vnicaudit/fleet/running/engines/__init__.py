"""Where hosts are read: by this process (``threads``), or by the workers of a Dask cluster
(``dask``). Which host comes next, tries and pauses are the same for all."""
