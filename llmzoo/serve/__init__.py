"""Environments and policies over gRPC: the server, and what reaches it.

``hosting`` is the server that holds services, ``channel`` the way to one; ``environments`` is the
service of environments and ``remote`` the environment on its other side.
"""
