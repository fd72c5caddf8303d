"""Environments over gRPC, models over OpenAI's API: the servers, and what reaches them.

``hosting`` is the server that holds services, ``channel`` the way to one; ``environments`` is the
service of environments and ``remote`` the environment on its other side.
"""
