"""Marginals of a forest are those of any chain: sums over all vectors."""

from __future__ import annotations

from reference.enumeration import log_evidence, marginals

__all__ = ["log_evidence", "marginals"]
