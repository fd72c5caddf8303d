"""Holds an untrusted program: worker processes, namespaces, filters, limits, and the channel to it."""
