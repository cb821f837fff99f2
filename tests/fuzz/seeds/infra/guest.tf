resource "libvirt_domain" "web" {
  name = "web"
  type = "kvm"
  vcpu = 4
  os   = { type = "hvm", type_arch = "x86_64", type_machine = "q35" }
  devices = {
    interfaces = [
      {
        source = { bridge = { bridge = "br0" } }
        model  = { type = "E1000" }
        mac    = { address = "52:54:00:AA:00:01" }
      },
      { source = { network = { network = "default" } } },
    ]
  }
}
