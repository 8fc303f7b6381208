"""What the README and the documents say must run: their Python blocks, and the command of the main job."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def python_blocks(document):
    text = (ROOT / document).read_text(encoding="utf8")
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if python_blocks(document)])
def test_python_blocks_run(document):
    namespace = {"__name__": "document"}
    for number, block in enumerate(python_blocks(document), start=1):
        exec(compile(block, f"{document}, Python block {number}", "exec", dont_inherit=True), namespace)
    assert "ChainClassifier" in namespace


def test_main_job_compares_and_certifies(tmp_path):
    (code,) = re.findall(r'^pip install \. && python -c "\n(.*?)^"$', README, flags=re.DOTALL | re.MULTILINE)
    # Within double quotes a shell would read these.
    assert not set('"$`\\!') & set(code)
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    score = {name: float(share) for name, share in re.findall(r"(\w+): all four right on ([\d.]+)%", answer)}
    assert list(score) == ["independent", "greedy", "exact"]
    assert score["exact"] > score["independent"]
    assert "certified: True" in answer


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    path = ROOT / document
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text(encoding="utf8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not missing
