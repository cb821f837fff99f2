# images
resource "openstack_images_image_v2" "jammy" {
  name        = "Ubuntu 22.04"
  disk_format = "qcow2"
  properties = {
    hw_vif_model = "e1000"
    "os_distro"  = var.distro
    os_version : "22.${var.minor}"
  }
}

resource "openstack_images_image_v2" "merged" {
  name       = var.name
  properties = merge(var.common, { hw_vif_model = "e1000" })
}

resource "openstack_compute_flavor_v2" "big" {
  name  = "big"
  vcpus = 8
  extra_specs = { "hw:vif_multiqueue_enabled" = true, (var.key) = "x" }
}

resource "openstack_compute_instance_v2" "server" {
  flavor_id  = openstack_compute_flavor_v2.big.id
  image_name = "${openstack_images_image_v2.jammy.name}"
}
