"""A cluster read by its API: ``kube:CONTEXT``.

``client.py`` reads kubeconfig files and sends requests; ``lists.py`` says which lists are read, and
follows their pages; ``read.py`` makes items of them; ``launchers.py`` asks the pods of running VMs;
``changes.py`` patches and restarts. All of it needs the official client (``kubernetes``), which is
slow to load, and is imported on first use.
"""
