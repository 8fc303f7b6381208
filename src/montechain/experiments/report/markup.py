"""Elements of a page as text, and data that a script on it reads: nothing that is a name can become markup."""

from __future__ import annotations

import json
from html import escape
from typing import Any

__all__ = ["element", "embedded_json", "words"]

VOID = frozenset({"input", "br", "meta"})
ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> str:
    """Return an element. Its children are markup; its attributes are not, and are escaped.

    Names of attributes may end in an underscore, and their dashes are written as underscores. None and False leave an
    attribute out, True gives it no value.

    >>> element("g", element("line", x1=0, x2=1.5), class_="axis", text_anchor="end", hidden=False)
    '<g class="axis" text-anchor="end"><line x1="0" x2="1.5"></line></g>'
    """
    parts = [name]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(key)
        elif value is not None and value is not False:
            parts.append(f'{key}="{f"{value:.6g}" if isinstance(value, int | float) else escape(value)}"')
    opening = f"<{' '.join(parts)}>"
    return opening if name in VOID else f"{opening}{''.join(children)}</{name}>"


def words(name: str, text: str, /, **attributes: str | float | bool | None) -> str:
    """Return an element that holds text, escaped.

    >>> words("td", "<b>", class_="cell")
    '<td class="cell">&lt;b&gt;</td>'
    """
    return element(name, escape(text), **attributes)


def embedded_json(value: Any) -> str:
    r"""Return JSON that may stand in a script element: it cannot end it, whatever the names in it are.

    >>> print(embedded_json({"label": "</script>"}))
    {"label":"\u003c/script\u003e"}
    """
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "".join(ESCAPES.get(character, character) for character in written)
