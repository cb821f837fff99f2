"""What we say a declaration becomes, against the command line libvirt makes of it."""
