"""libvirt"""
