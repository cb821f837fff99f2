"""Knowledge of NICs, QEMU, libvirt, Nova and guests: pure functions and data, with sources."""
