"""Images, flavors and guests described in files in Git: shell, Ansible, Heat, Terraform, Packer.

Nothing is executed and nothing is rendered: a value that depends on a variable or a template is
kept and marked as not certain.
"""
