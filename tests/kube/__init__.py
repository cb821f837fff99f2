"""A real API server of Kubernetes: what a cluster answers is its own word.

``building.py`` builds kube-apiserver from the Go module proxy and unpacks Debian's etcd, once;
``server.py`` runs them on loopback, ``certificates.py`` writes what they and their users show one
another, ``objects.py`` makes objects, ``fixtures.py`` gives all that to tests. ``pods.py`` has
commands run in pods, by a kubelet that does nothing else (``podexec.go``). ``virt.py`` restarts
virtual machines in the place of KubeVirt, and has rules of admission of ours (``admission.yaml``).
``nodes.py`` adds two nodes: pods that are created run there, as namespaces of this machine.

The definitions of KubeVirt's kinds (``kinds.yaml``) are ours: they have the kinds served, and check
nothing of an object. KubeVirt's own are loaded in their place where ``testbeds/kube/crds`` of a
folder ``shared`` beside the checkout has them.
"""
