"""The report in a real browser: it opens in silence, sorts, filters, and shows how a row was decided."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from montechain.experiments.report import write_report
from tests.experiments.invented_reproduction import NASTY, WORSE, invented_reproduction

pytestmark = pytest.mark.browser

WIDTHS = {"desktop": 1280, "phone": 390}


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    return write_report(invented_reproduction(), tmp_path_factory.mktemp("report"))[0]


@pytest.fixture
def page(browser, report):
    """Return the page, opened; whatever a test does to it, it must not complain."""
    tab = browser.new_page()
    tab.resize(WIDTHS["desktop"])
    tab.prefer("light")
    tab.open(report)
    yield tab
    assert tab.run("1 + 1") == 2  # so that what it still has to say arrives
    assert tab.complaints == []
    assert tab.dialogs == []
    tab.close()


def choose(page, selector: str, value: str) -> None:
    page.run(
        f"(() => {{ const field = document.querySelector({selector!r}); field.value = {value!r};"
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )


def column(page, table: str, number: int, visible: bool = True) -> list[str]:
    rows = f"[...document.querySelectorAll({table + ' tbody tr'!r})]"
    kept = f"{rows}.filter(row => !{'row.hidden' if visible else 'false'})"
    return page.run(f"{kept}.map(row => row.cells[{number}].dataset.value ?? row.cells[{number}].textContent)")


def test_it_loads_nothing_but_itself(page, report):
    assert page.requests == [report.as_uri()]
    assert page.run("performance.getEntriesByType('resource').length") == 0
    assert page.run("document.querySelectorAll('section').length") >= 10


def test_the_policy_stops_scripts_that_are_not_ours(browser, report):
    tab = browser.new_page()
    tab.open(report)
    tab.run(
        "(() => { const box = document.createElement('div');"
        "box.innerHTML = '<button onclick=\"window.broken = true\">x</button>';"
        "document.body.append(box); box.firstChild.click(); })()"
    )
    assert tab.run("window.broken") is None
    assert any("Content Security Policy" in complaint for complaint in tab.complaints)
    tab.close()


def test_a_click_sorts_and_another_one_turns_it_round(page):
    table = '[data-comparison="accuracy"] .grid-box[data-measure="exact_match"]'
    button = f"document.querySelectorAll('{table} thead button')[2]"
    page.run(f"{button}.click()")
    assert page.run(f"{button}.parentElement.ariaSort") == "descending"
    values = column(page, table, 2)
    assert values[-1] == ""  # Parkinson's has no figure
    numbers = [float(value) for value in values[:-1]]
    assert numbers == sorted(numbers, reverse=True)
    page.run(f"{button}.click()")
    assert column(page, table, 2) == [*map(str, values[:-1][::-1]), ""]
    page.run(f"document.querySelectorAll('{table} thead button')[0].click()")
    names = column(page, table, 0)
    assert names == sorted(names)
    assert page.run(f"{button}.parentElement.ariaSort") == "none"


def test_the_keyboard_sorts(page):
    table = '[data-comparison="time"] .grid-box[data-measure="build_time_s"]'
    page.run(f"document.querySelectorAll('{table} thead button')[1].focus()")
    page.press("Enter")
    numbers = [float(value) for value in column(page, table, 1)]
    assert numbers == sorted(numbers)


def test_filters_hide_rows_and_dim_cells(page):
    box = '[data-comparison="accuracy"]'
    everything = len(column(page, f"{box} .list", 0))
    assert everything == 198
    choose(page, f"{box} .flag", "filled")
    assert set(column(page, f"{box} .list", 1)) == {"PCC"}
    assert page.run(f"document.querySelector('{box} .count').textContent") == "10 of 198 figures"
    assert set(column(page, f"{box} .grids", 0)) == {"Yeast", "Genbase", "Medical", "Enron", "Reuters"}
    assert page.run(f"document.querySelectorAll('{box} .grids tr:not([hidden]) td[data-cell]:not(.dim)').length") == 10
    choose(page, f"{box} .search", "YEAST pcc")
    assert column(page, f"{box} .list", 0) == ["Yeast", "Yeast"]
    choose(page, f"{box} .measure", "hamming_score")
    assert column(page, f"{box} .list", 2) == ["Hamming score"]
    assert page.run(f"[...document.querySelectorAll('{box} .grid-box')].map(grid => grid.hidden)") == [True, False]
    choose(page, f"{box} .search", "there is no such thing")
    assert page.run(f"document.querySelector('{box} .count').textContent") == "0 of 198 figures"
    for field in ("search", "flag", "measure"):
        choose(page, f"{box} .{field}", "")
    assert len(column(page, f"{box} .list", 0)) == everything
    assert page.run(f"document.querySelectorAll('{box} .dim').length") == 0


def test_the_list_takes_the_place_of_the_grids(page):
    box = '[data-comparison="official"]'
    shown = f"['grids', 'list'].map(name => document.querySelector('{box} .view.' + name).checkVisibility())"
    assert page.run(shown) == [True, False]
    page.run(f"document.querySelector('{box} [data-view=list]').click()")
    assert page.run(shown) == [False, True]
    page.run(f"document.querySelectorAll('{box} .list thead button')[7].click()")
    differences = [float(value) for value in column(page, f"{box} .list", 7) if value]
    assert differences == sorted(differences, reverse=True)


def test_the_explorer_shows_rows_in_turn(page):
    assert page.run("document.getElementById('explorer-app').dataset.ready") == "true"
    rows = "[...document.getElementById('explorer-row').options].map(option => option.value)"
    assert page.run(rows) == ["3", "17", "42"]
    first = page.run("document.querySelector('.top-vectors').textContent")
    page.run("document.getElementById('explorer-next').click()")
    assert page.run("document.getElementById('explorer-row').value") == "17"
    assert page.run("document.querySelector('.top-vectors').textContent") != first
    page.run("document.getElementById('explorer-previous').click()")
    page.run("document.getElementById('explorer-previous').click()")
    assert page.run("document.getElementById('explorer-row').value") == "42"
    choose(page, "#explorer-dataset", "Enron")
    assert page.run(rows) == ["7"]
    nodes = len(invented_reproduction().examples[-1].tree)
    assert page.run("document.querySelectorAll('.tree .node').length") < nodes  # the improbable is hidden at first
    choose(page, ".shown select", "0")
    assert page.run("document.querySelectorAll('.tree .node').length") == nodes


def test_the_tree_of_the_papers_example(page):
    choose(page, "#explorer-dataset", "dangerous")
    assert page.run("document.querySelectorAll('.tree .node').length") == 21
    ends = "[...document.querySelectorAll('.tree .end')].map(end => end.textContent)"
    assert sorted(page.run(ends))[-1] == "0.216"
    assert len(page.run(ends)) == 12
    best = page.run("[...document.querySelectorAll('.tree .branch-name.best')].map(name => name.textContent)")
    assert [name.split(" · ")[1] for name in best] == ["0.600", "0.600", "0.600"]
    assert page.run("document.querySelectorAll('.tree .branch.best').length") == 3
    assert page.run("document.querySelectorAll('.tree .node.best .end').length") == 1
    # Start, small, and the dangerous class are true; the last label is unknown.
    assert page.run("document.querySelectorAll('.tree .node.truth').length") == 3


def test_the_keyboard_walks_through_the_tree(page):
    choose(page, "#explorer-dataset", "dangerous")
    page.run("document.querySelector('.tree .node[tabindex=\"0\"]').focus()")
    said = "document.activeElement.getAttribute('aria-label')"
    assert page.run(said).startswith("start")
    page.press("ArrowRight")
    assert page.run(said).startswith(f"{NASTY} = small, 0.600")
    page.press("ArrowDown")
    assert page.run(said).startswith(f"{NASTY} = large, 0.400")
    page.press("ArrowUp")
    page.press("ArrowRight")
    page.press("ArrowRight")
    assert "way so far 0.216; on the best way" in page.run(said)
    page.press("ArrowRight")  # there is nothing further
    assert page.run("document.querySelector('.detail').textContent").endswith("p = 0.216")
    assert page.run("document.querySelectorAll('.node.on-way').length") == 4
    page.press("ArrowLeft")
    assert page.run(said).startswith(f"{WORSE} = {WORSE}")
    assert page.run("document.querySelectorAll('.tree [tabindex=\"0\"]').length") == 1


def test_dangerous_labels_are_text(page):
    choose(page, "#explorer-dataset", "dangerous")
    shown = page.run("document.querySelector('.shown').textContent")
    assert NASTY in shown
    assert WORSE in shown
    assert page.run("document.images.length") == 0
    assert page.run("document.scripts.length") == 2
    assert NASTY in page.run("document.querySelector('.top-vectors tbody tr').innerText")


def test_light_and_dark_by_preference_and_by_choice(browser, report):
    tab = browser.new_page()
    paper = "getComputedStyle(document.body).backgroundColor"
    tab.prefer("dark")
    tab.open(report)
    dark = tab.run(paper)
    tab.prefer("light")
    light = tab.run(paper)
    assert dark != light
    assert tab.run("document.getElementById('theme').textContent") == "Dark"
    tab.run("document.getElementById('theme').click()")
    assert tab.run(paper) == dark
    assert tab.run("document.getElementById('theme').textContent") == "Light"
    tab.open(report)
    assert tab.run(paper) == dark  # it was remembered
    tab.run("document.getElementById('theme').click(); localStorage.clear()")
    assert tab.run(paper) == light
    assert tab.complaints == []
    tab.close()


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_it_looks_like(browser, report, scheme, width):
    """Also writes the pictures to MONTECHAIN_SCREENSHOTS, if that is set, for people to look at."""
    tab = browser.new_page()
    tab.resize(width)
    tab.prefer(scheme)
    tab.open(report)
    # Wide tables scroll in their boxes; the page itself never does so sideways.
    assert tab.run("document.documentElement.scrollWidth") == width
    picture = tab.screenshot()
    assert struct.unpack("!I", picture[16:20]) == (width,)
    folder = os.environ.get("MONTECHAIN_SCREENSHOTS")
    if folder:
        (Path(folder) / f"report-{scheme}-{width}.png").write_bytes(picture)
    assert tab.complaints == []
    tab.close()


def test_on_paper_it_is_light_and_nothing_is_cut_off(browser, report):
    tab = browser.new_page()
    tab.resize(1030)  # A4, landscape, without its margins
    tab.prefer("dark", media="print")
    tab.open(report)
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.run("document.documentElement.scrollWidth") == 1030
    assert not tab.run("document.querySelector('.controls').checkVisibility()")
    tab.close()


def test_letters_stand_out_from_their_ground(browser, report):
    """Contrast of at least 4.5 (WCAG AA) for running text, in light and in dark."""
    tab = browser.new_page()
    for scheme in ("light", "dark"):
        tab.prefer(scheme)
        tab.open(report)
        for selector in ("body", ".quiet", ".difference.better", ".difference.worse", ".difference.new", "td.best"):
            assert tab.run(CONTRAST.replace("SELECTOR", selector)) >= 4.5, (scheme, selector)
    tab.close()


CONTRAST = """(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const node = document.querySelector("SELECTOR");
  let ground = node;
  const colour = (n) => numbers(getComputedStyle(n).backgroundColor);
  while (ground.parentElement && colour(ground).length === 4 && colour(ground)[3] === 0) ground = ground.parentElement;
  const [a, b] = [light(numbers(getComputedStyle(node).color)), light(colour(ground))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
})()"""
