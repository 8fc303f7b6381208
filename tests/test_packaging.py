"""The minimum versions in pyproject.toml are those that `.ci/run` installs for the core tests."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNTESTED = {"lint", "bench", "dev"}
"""Extras for developers and benchmarks, which are not installed with the minimum versions."""

pytestmark = pytest.mark.skipif(not (ROOT / "constraints").is_dir(), reason="outside the project's folder")


def declared() -> dict[str, str]:
    """Return the minimum version of each dependency in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found: dict[str, str] = {}
    for requirement in [*project["dependencies"], *(r for name in extras.keys() - UNTESTED for r in extras[name])]:
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[.*\])?>=([0-9.]+)", requirement)
        assert match, f"{requirement!r} has no minimum version: write 'package>=version'"
        name, version = match.groups()
        assert found.setdefault(name, version) == version, f"{name} has two minimum versions in pyproject.toml"
    return found


def tried() -> dict[str, str]:
    """Return the versions that `.ci/run` installs."""
    lines = (ROOT / "constraints" / "minimum.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_minimum_versions_are_the_ones_that_are_tested():
    assert declared() == tried()


def test_the_continuous_integration_installs_them():
    assert "--constraint constraints/minimum.txt" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_bill_of_materials_and_the_check_of_advisories(tmp_path):
    def run(*arguments):
        command = [sys.executable, ROOT / ".ci" / "sbom.py", ROOT / "constraints" / "minimum.txt", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    listed = {one["name"]: one["version"] for one in json.loads(run().stdout)["components"]}
    assert listed == {name.lower(): version for name, version in tried().items()}
    events = [{"introduced": "0"}, {"fixed": "2.2.0"}, {"introduced": "2.3"}]
    entry = {"package": {"name": "NumPy"}, "ranges": [{"type": "ECOSYSTEM", "events": events}]}
    record = {"id": "OSV-1", "summary": "it adds up wrongly", "affected": [entry]}
    for change, code in (({}, 0), ({"fixed": "2.2.1"}, 1), ({"last_affected": "2.2.0"}, 1), ({"fixed": "2.2"}, 0)):
        events[1] = change or events[1]
        (tmp_path / "one.json").write_text(json.dumps(record))
        answer = run("--advisories", tmp_path)
        assert answer.returncode == code, answer
        assert ("numpy 2.2.0: OSV-1: it adds up wrongly" in answer.stdout) == bool(code)
