"""A binary heap on two arrays: the largest key first, of equal keys the lowest item."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import inner, njit


@inner
def heap_push(keys, items, size, key, item):
    """Add `item` under `key` to the heap ``keys[:size], items[:size]``; its size is then ``size + 1``."""
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if keys[up] > key or (keys[up] == key and items[up] < item):
            break
        keys[i] = keys[up]
        items[i] = items[up]
        i = up
    keys[i] = key
    items[i] = item


@inner
def heap_pop(keys, items, size):
    """Return the item of the largest key and take it from the heap; its size is then ``size - 1``."""
    top = items[0]
    last = size - 1
    key = keys[last]
    item = items[last]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= last:
            break
        if child + 1 < last and (
            keys[child + 1] > keys[child] or (keys[child + 1] == keys[child] and items[child + 1] < items[child])
        ):
            child += 1
        if keys[child] < key or (keys[child] == key and items[child] > item):
            break
        keys[i] = keys[child]
        items[i] = items[child]
        i = child
    keys[i] = key
    items[i] = item
    return top


@njit(cache=False)
def doubled(array):
    """Return a copy of `array` with twice the room along its last axis."""
    n = array.shape[-1]
    longer = np.empty((*array.shape[:-1], 2 * n), dtype=array.dtype)
    longer[..., :n] = array
    return longer
