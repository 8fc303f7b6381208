"""What an encoder makes of a table, with numbers as they were before they were standardised."""

import numpy as np


def unscaled(encoder, X):
    """Return the table as numbers, as an array."""
    result = encoder.transform(X)
    result = result.toarray() if hasattr(result, "toarray") else np.array(result)
    scaler = encoder.pipeline_[-1]
    if hasattr(scaler, "scale_"):
        n = len(scaler.scale_)
        result[:, :n] = result[:, :n] * scaler.scale_ + scaler.mean_
    return result
