"""A small table as people have them: words, gaps, an identifier, and three targets that depend on each other."""

import numpy as np
import pandas as pd

TARGETS = "material,span,type"


def bridges(n_rows: int = 240, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    year = rng.integers(1820, 1990, n_rows)
    length = rng.gamma(3.0, 400.0, n_rows).round()
    river = rng.choice(["A", "M", "O"], n_rows)
    material = np.where(year < 1870, "WOOD", np.where(year < 1900, "IRON", "STEEL")).astype(object)
    span = np.where(length > 1300, "LONG", np.where(length > 700, "MEDIUM", "SHORT")).astype(object)
    kind = np.where(material == "WOOD", "WOOD", np.where(span == "LONG", "ARCH", "TRUSS")).astype(object)
    for column in (material, span, kind):
        swapped = rng.random(n_rows) < 0.1
        column[swapped] = rng.permutation(column)[swapped]
        column[rng.random(n_rows) < 0.05] = None
    table = pd.DataFrame(
        {
            "id": [f"E{n:03}" for n in range(n_rows)],
            "river": np.where(rng.random(n_rows) < 0.1, None, river),
            "erected": year,
            "length": np.where(rng.random(n_rows) < 0.2, np.nan, length),
            "material": material,
            "span": span,
            "type": kind,
        }
    )
    table.loc[:2, ["material", "span", "type"]] = [
        ["WOOD", "LONG", "ARCH"],
        ["IRON", "SHORT", "WOOD"],
        ["STEEL", "MEDIUM", "TRUSS"],
    ]
    return table
