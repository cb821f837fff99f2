"""Servers, images and flavors of an OpenStack cloud -> steps, and what is not planned, with the
reason."""
