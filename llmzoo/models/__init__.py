"""Weights and what is computed with them: loading, sampling, likelihoods, adapters, kernels."""
