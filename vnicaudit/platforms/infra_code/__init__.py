"""Images, flavors and guests as people keep them in Git: shell, Ansible, Heat, Terraform, Packer.

Nothing is executed and nothing is rendered: a value that a variable or a template decides is kept
and marked as not certain.
"""
