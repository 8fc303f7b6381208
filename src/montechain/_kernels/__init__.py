"""Compiled loops over label-linear chains: arrays in, arrays out, no objects.

Every kernel takes `montechain.links.linear.LinearScores` first (the base scores of the rows, and the links), then
the labels known beforehand, then its own numbers. Each has a slow, obvious twin of the same name under
`tests/reference/`.

Nothing is compiled at import: numba compiles at the first call and keeps the result on disk. So each kernel is called
with one set of types, C-contiguous and writable. Code that only few chains or rows need is a separate kernel, so that
others do not wait for it to compile. Arrays are created in Python, because numba compiles array creation slowly.
"""
