"""Write a software bill of materials (CycloneDX) of pinned packages, and check them against saved advisories.

    python .ci/sbom.py constraints/minimum.txt > sbom.json
    python .ci/sbom.py constraints/minimum.txt --advisories FOLDER

A folder of advisories holds OSV records, one JSON file each, such as those of PyPI's packages that osv.dev offers as
one archive. With it, no network is needed; the exit code is 1 if a pinned version is affected.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


def read_pins(path: Path) -> dict[str, str]:
    """Return the version of each package in a file of ``name==version`` lines."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    pins = [Requirement(line) for line in lines if line]
    return {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pins}


def bill(pins: dict[str, str]) -> dict[str, Any]:
    """Return a CycloneDX document of the packages."""
    components = [
        {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
        for name, version in sorted(pins.items())
    ]
    main = {"type": "library", "name": "montechain", "bom-ref": "montechain"}
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": main},
        "components": components,
    }  # fmt: skip


def affected(pins: dict[str, str], folder: Path) -> Iterator[str]:
    """Yield a line for each advisory that names a pinned version, or a range with it."""
    for path in sorted(folder.rglob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        for entry in record.get("affected", ()):
            name = canonicalize_name(entry.get("package", {}).get("name", ""))
            if name in pins and not record.get("withdrawn") and _is_affected(Version(pins[name]), entry):
                yield f"{name} {pins[name]}: {record.get('id')}: {record.get('summary', 'no summary')}"


def _is_affected(version: Version, entry: dict[str, Any]) -> bool:
    if str(version) in entry.get("versions", ()):
        return True
    found = False
    for events in (one["events"] for one in entry.get("ranges", ()) if one.get("type") == "ECOSYSTEM"):
        is_open = False
        for event in events:  # in the order of the versions
            for kind, text in event.items():
                try:
                    limit = Version(text)
                except InvalidVersion:
                    continue
                if kind == "introduced" and version >= limit:
                    is_open = True
                elif (kind == "fixed" and version >= limit) or (kind == "last_affected" and version > limit):
                    is_open = False
        found |= is_open
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("pins", type=Path)
    parser.add_argument("--advisories", type=Path)
    options = parser.parse_args()
    if options.advisories is None:
        print(json.dumps(bill(read_pins(options.pins)), indent=1))
    else:
        lines = list(affected(read_pins(options.pins), options.advisories))
        print("\n".join(lines) or "No pinned version is affected.")
        sys.exit(1 if lines else 0)
