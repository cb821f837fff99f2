"""KubeVirt: manifests of virtual machines, as people keep them in Git.

Read as KubeVirt reads them: interface, then preference, then default.
"""
