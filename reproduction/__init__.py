"""The studies of Read, Martino and Luengo (2014), run again on top of montechain's public API.

``python -m reproduction --quick`` runs them in a few minutes and writes a report; see `docs/reproduction.md`.
"""
