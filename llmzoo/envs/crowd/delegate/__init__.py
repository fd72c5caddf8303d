"""Delegation: a lead divides a question among workers who each read one document."""
