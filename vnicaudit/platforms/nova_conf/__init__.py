"""nova_conf"""
