source "openstack" "base" {
  image_name = "base"
  metadata = { hw_vif_model = "e1000" }
  instance_metadata = { hw_vif_model = "rtl8139" }
}
source "qemu" "build" {
  net_device = "e1000"
}
