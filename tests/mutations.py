"""Damage files on purpose, for the fuzz tests of all readers.

``mutate(data, rng)`` returns the bytes with one to four faults: accidents (cut off, a flipped byte, a line lost or
doubled) and attacks (huge numbers, stray quotes, entity declarations). The same `random.Random` gives the same bytes.
"""

import random
from collections.abc import Sequence

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


def _on_bytes(kind: str, data: bytes, rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    """Return the data with a fault that does not know of lines."""
    if kind in ("flip bits", "set bytes"):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            place = rng.randrange(len(changed))
            changed[place] = changed[place] ^ 1 << rng.randrange(8) if kind == "flip bits" else rng.randrange(256)
        return bytes(changed)
    longest = rng.choice(LONGEST[kind]) if kind in LONGEST else 0
    start = rng.randrange(len(data) + 1)
    stop = min(len(data), start + rng.randint(1, longest)) if longest else start
    if kind == "duplicate":
        return data[:stop] + data[start:stop] * rng.randint(1, 3) + data[stop:]
    if kind == "truncate":
        return data[:start]
    if kind == "splice":  # the beginning of the file followed by another end of the same file
        return data[:start] + data[rng.randrange(len(data) + 1) :]
    put = {"delete": lambda: b"", "put nuls": lambda: b"\x00" * rng.randint(1, 16)}
    return data[:start] + put.get(kind, lambda: rng.choice(tokens))() + data[stop:]


def _on_lines(kind: str, data: bytes, rng: random.Random) -> bytes:
    """Return the data with a line lost, repeated or moved, or with other line ends."""
    lines = data.split(b"\n")
    if kind == "delete line":
        del lines[rng.randrange(len(lines))]
    elif kind == "duplicate line":
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    elif kind == "move line":
        lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
    return (rng.choice((b"\r\n", b"\r", b"\n\n", b" \n", b"\x00\n")) if kind == "line ends" else b"\n").join(lines)


LONGEST = {"delete": (1, 4, 64), "duplicate": (1, 16, 128), "overwrite": (12,)}
"""How many bytes a fault concerns at most."""
ON_BYTES = (
    "flip bits", "set bytes", "delete", "duplicate", "truncate", "insert", "insert", "overwrite", "overwrite",
    "put nuls", "splice",
)  # fmt: skip
ON_LINES = ("delete line", "duplicate line", "move line", "line ends")


def mutate(data: bytes, rng: random.Random, tokens: Sequence[bytes] = TOKENS) -> bytes:
    """Return the data with one to four random faults; `tokens` are the strings put into it."""
    for _ in range(rng.randint(1, 4)):
        if not data:
            return rng.choice(tokens)
        kind = rng.choice(ON_BYTES + ON_LINES)
        data = _on_lines(kind, data, rng) if kind in ON_LINES else _on_bytes(kind, data, rng, tokens)
    return data
