"""A cluster read by its API: ``kube:CONTEXT``.

``client.py`` reads kubeconfig files and is the one place that sends requests; ``lists.py`` says
which lists are read, and follows their pages; ``read.py`` makes items of them. All of it needs the
official client (``kubernetes``), which is slow to load, and is imported on first use.
"""
