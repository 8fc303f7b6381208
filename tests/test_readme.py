"""The README and the documents must work: their Python blocks, the main command, and their links."""

import re
from pathlib import Path

import pytest

from command import run_from_nothing

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf8")
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def python_blocks(document):
    text = (ROOT / document).read_text(encoding="utf8")
    return re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if python_blocks(document)])
def test_python_blocks_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    namespace = {"__name__": "document"}
    for number, block in enumerate(python_blocks(document), start=1):
        exec(compile(block, f"{document}, Python block {number}", "exec", dont_inherit=True), namespace)
    assert "ChainClassifier" in namespace


@pytest.mark.slow
def test_main_job_compares_and_certifies(tmp_path):
    (command,) = re.findall(r"^pip install \. && montechain (.*)$", README, flags=re.MULTILINE)
    answer = run_from_nothing(*command.split(), folder=tmp_path)
    assert answer.code == 0, answer.err
    score = {name: float(share) for name, share in re.findall(r"^ +(\w+) +(0\.\d+)", answer.out, flags=re.MULTILINE)}
    assert list(score) == ["Majority", "IC", "CC", "MCC", "LP", "Boosting", "Auto"]
    assert score["Majority"] < score["IC"] < score["CC"] < score["LP"] < score["Auto"]
    assert len(re.findall(r" (?:0\.\d{3}|1\.000) +yes", answer.out)) == 3  # certified
    assert "montechain fit" in answer.out


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    path = ROOT / document
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", path.read_text(encoding="utf8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not missing
