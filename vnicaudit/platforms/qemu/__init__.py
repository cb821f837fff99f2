"""qemu"""
