"""Accuracy against peers on real data, in one run: ``python -m benchmarks accuracy``."""
