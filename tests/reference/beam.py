"""The most probable prefixes at every length, a fixed number of them."""

import math

from reference.joint import TIE, log_classes


def beam(chain, X, given, width):
    """Return for each row: the last beam as a list of (vector, log-probability), and all that was dropped."""
    rows = []
    for i in range(len(X)):
        kept, dropped = [((), 0.0)], []
        for k in range(len(chain.n_classes)):
            candidates = [
                ((*prefix, c), partial + value)
                for prefix, partial in kept
                for c, value in enumerate(log_classes(chain, X, i, prefix))
                if given is None or given[i, k] in (-1, c)
            ]
            candidates.sort(key=lambda candidate: -round(candidate[1] / TIE))
            kept, dropped = candidates[:width], dropped + candidates[width:]
        values = [value for _, value in dropped]
        rows.append((kept, max(values, default=-math.inf), sum(math.exp(value) for value in values)))
    return rows
