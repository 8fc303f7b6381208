"""A binary heap on two arrays, the largest key first, of equal keys the lowest item; and room for more."""

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
def longer(array, size):
    """Return a copy of `array` with room for `size` entries along its first axis."""
    copy = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    # In a loop: to assign a part of an array takes far longer to compile.
    values, place = array.reshape(-1), copy.reshape(-1)
    for i in range(len(values)):
        place[i] = values[i]
    return copy


@njit(cache=False)
def doubled(heaps):
    """Return a copy of some heaps, one in each row, with twice the room."""
    copy = np.empty((heaps.shape[0], 2 * heaps.shape[1]), dtype=heaps.dtype)
    for j in range(heaps.shape[0]):
        for i in range(heaps.shape[1]):
            copy[j, i] = heaps[j, i]
    return copy
