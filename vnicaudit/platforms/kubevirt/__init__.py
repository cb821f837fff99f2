"""KubeVirt: manifests of virtual machines in files.

They are read like in KubeVirt: interface, then preference, then default.
"""
