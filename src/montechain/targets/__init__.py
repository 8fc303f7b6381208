"""The codec between a user's label table and integer codes.

Everything below the estimators works on int32 codes of shape (n, L): 0..K-1 for the K sorted classes of a label, -1
where a label is unknown. `TargetCodec` converts in both directions, once each way:

>>> import pandas as pd
>>> from montechain.targets import TargetCodec
>>> y = pd.DataFrame({"wind": ["low", "high", None], "rain": [0, 1, 1]})
>>> codec, codes = TargetCodec.fit_encode(y)
>>> codes.tolist(), codec.n_classes, codec.names
([[1, 0], [0, 1], [-1, 1]], [2, 2], ['wind', 'rain'])
>>> codec.encode_given(pd.DataFrame({"rain": [1]}), n_rows=1).tolist()
[[-1, 1]]
>>> codec.decode(codes[:2])
   wind  rain
0   low     0
1  high     1

`as_columns` is the layer below: it reads a table of any accepted kind into numpy columns and a mask of known cells.
"""

from montechain.targets.codec import TargetCodec, default_label_names, named_labels
from montechain.targets.columns import (
    CODE,
    UNKNOWN,
    TargetTable,
    as_columns,
    equals,
    factorise,
    plain,
    resolve_negative,
    show_classes,
)

__all__ = [
    "CODE",
    "UNKNOWN",
    "TargetCodec",
    "TargetTable",
    "as_columns",
    "default_label_names",
    "equals",
    "factorise",
    "named_labels",
    "plain",
    "resolve_negative",
    "show_classes",
]
