"""Declared -> effective: the settings that the guest really gets, and why.

Every statement about libvirt or QEMU in this folder has its source in
docs/explanation/effective.md. QEMU's own arguments, where known, override inference, and the reason
says so.
"""
