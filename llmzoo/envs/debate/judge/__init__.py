"""Who judges a debate: rules, a function of yours, or a language model behind an endpoint."""
