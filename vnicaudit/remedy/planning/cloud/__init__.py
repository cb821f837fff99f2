"""Servers, images and flavors of an OpenStack cloud -> steps, and what is left and why."""
