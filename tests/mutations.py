"""Damage files on purpose, for the fuzz tests of all readers.

``mutate(data, rng)`` returns the bytes with one to four faults: accidents (cut off, a flipped byte, a line lost or
doubled) and attacks (huge numbers, stray quotes, entity declarations). The same `random.Random` gives the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

TOKENS: tuple[bytes, ...] = (
    b"{", b"}", b"'", b'"', b"\\", b"?", b",", b";", b":", b"|", b"\t", b" ", b"\n", b"\r", b"\r\n", b"\x00",
    b"\xff\xfe", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc3", b"%", b"#", b"@", b"@data\n", b"\n@DATA\n",
    b"\n@attribute x numeric\n", b"\n@attribute y {a,b}\n", b"\n@attribute z relational\n", b"\n@relation r\n",
    b"\n@end z\n", b"{0 1, 1 1}", b"{1000000000000 1}", b"{3 1, 2 1}", b"{-1 1}", b"{5}", b"1000000000000",
    b"99999999999999999999999999999999", b"1e999", b"-1e999", b"1e-999", b"nan", b"NaN", b"inf", b"-Infinity",
    b"0x1p3", b"1_000", b"1,5", b"-", b"--1", b"1" * 5000, b"A" * 5000, b"=" * 300, b"NA", b"true", b"<", b">", b"</",
    b"/>", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"&", b"&lol;", b"&#0;", b"&#x110000;",
    b'<!DOCTYPE labels [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;">]>',
    b'<!DOCTYPE labels [<!ENTITY other SYSTEM "file:///etc/hostname">]>',
    b'<!DOCTYPE labels SYSTEM "http://localhost/labels.dtd">', b'<?xml version="1.0" encoding="utf-16"?>',
    b'<label name="again"></label>', b"<label>" * 200, b"]", b"[", b"PK\x03\x04", b"\x1f\x8b\x08",
)  # fmt: skip


def _span(data: bytes, rng: random.Random, longest: int) -> tuple[int, int]:
    """A random slice of the data of at most the given length."""
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randint(1, longest))


def _flip_bits(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _set_bytes(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _delete(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    start, stop = _span(data, rng, rng.choice((1, 4, 64)))
    return data[:start] + data[stop:]


def _duplicate(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    start, stop = _span(data, rng, rng.choice((1, 16, 128)))
    return data[:stop] + data[start:stop] * rng.randint(1, 3) + data[stop:]


def _truncate(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert_token(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(tokens) + data[place:]


def _overwrite_with_token(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    start, stop = _span(data, rng, 12)
    return data[:start] + rng.choice(tokens) + data[stop:]


def _insert_nuls(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + b"\x00" * rng.randint(1, 16) + data[place:]


def _delete_line(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def _duplicate_line(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\n".join(lines)


def _move_line(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
    return b"\n".join(lines)


def _other_line_ends(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b" \n", b"\x00\n")))


def _splice(data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    """The beginning of the file followed by another end of the same file."""
    return data[: rng.randrange(len(data) + 1)] + data[rng.randrange(len(data) + 1) :]


_MUTATIONS: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    _flip_bits,
    _set_bytes,
    _delete,
    _duplicate,
    _truncate,
    _insert_token,
    _insert_token,
    _overwrite_with_token,
    _overwrite_with_token,
    _insert_nuls,
    _delete_line,
    _duplicate_line,
    _move_line,
    _other_line_ends,
    _splice,
)


def mutate(data: bytes, rng: random.Random, tokens: Sequence[bytes] = TOKENS) -> bytes:
    """The data with one to four random faults; ``tokens`` are the strings put into it."""
    for _ in range(rng.randint(1, 4)):
        if not data:
            return rng.choice(tokens)
        data = rng.choice(_MUTATIONS)(data, rng, tokens)
    return data
