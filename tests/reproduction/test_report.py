"""The report, as text and in a real browser, at two widths, light and dark."""

import itertools
import os
import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.findings import differences, key_figures, summary
from reproduction.paper import published
from reproduction.report import _draw_search, grids, render, write_report
from reproduction.statistics import significance
from reproduction.tables import Findings, Table, complete_cells, ranks

NASTY = '</script><img src=x onerror="alert(1)">'
WIDTHS = (1280, 390)


@cache
def invented() -> Findings:
    """Return findings for all cells of the paper's main table, and a row with names that try to break out."""
    rng = np.random.default_rng(0)
    rows = published("accuracy_5fold_cv").to_dict("records")
    for row in rows:
        near = row["value"] if row["value"] == row["value"] else 0.5
        row |= {"published": row.pop("value"), "published_rank": row.pop("rank"), "published_word": row.pop("word")}
        row |= {"ours": round(near + rng.normal(0, 0.03), 3), "n": 5, "note": ""}
        row["meka"] = row["ours"] if row["method"] == "CC" else near
        if row["dataset"] == "parkinsons":
            row |= {"ours": None, "status": "missing", "reason": "the data are not public", "comparable": False}
    cells = complete_cells(rows)
    for (_, measure), group in cells.groupby(["dataset", "measure"]):
        cells.loc[group.index, "rank"] = ranks(group["ours"], measure)
    scores = cells.query("measure == 'exact_match'").pivot(index="dataset", columns="method", values="ours")
    steps = [{"iteration": t, "order": [1, 0], "payoff": t, "accepted": True, "J_Ham": -t} for t in range(4)]
    trace = {"figure": "x", "dataset": "music", "payoff": "J_EM", "on": "truth", "estimator": "svm"}
    trace["record"] = ["J_Ham"]
    prefixes = [prefix for k in (1, 2, 3) for prefix in itertools.product((0, 1), repeat=k)]
    example = {
        "dataset": NASTY, "row": 7, "labels": [NASTY, "b", "c"], "order": [0, 1, 2], "classes": [["0", "1"]] * 3,
        "truth": ["0", "0", None], "top": [[["0", "0", "0"], 0.216], [["1", "0", "0"], 0.144]], "certified": True,
        "tree": [[list(p), 0.6 ** p.count(0) * 0.4 ** p.count(1), not any(p)] for p in prefixes],
    }  # fmt: skip
    timed = [row for row in rows if row["measure"] == "exact_match"]
    times = complete_cells(
        row | {"measure": "running_time_s", "published": None, "published_word": ""} for row in timed
    )
    return Findings(
        [Table("accuracy", "Accuracy", NASTY, cells), Table("time", "Times", "", times)],
        [trace | {"number": number, "optimum": 5.0, "steps": steps} for number in (1, 2)],
        [example, example | {"dataset": "music", "row": 3}], {"exact_match": significance(scores, "exact_match")},
        {"command": "python -m reproduction --quick"},
    )  # fmt: skip


def test_the_words_follow_from_the_numbers():
    found = invented()
    cells = found.tables[0].cells
    apart = differences(found)
    compared = cells[cells["comparable"] & cells["published"].notna()]
    n_beyond = int((compared["difference"].abs().round(9) > 0.03).sum())
    assert 0 < n_beyond == len(apart)
    figures = {meaning: figure for figure, meaning in key_figures(found)}
    assert figures["figures within 0.03 of the paper"] == f"{len(compared) - n_beyond} of {len(compared)}"
    assert figures["cells filled that did not finish in the paper"] == "10"
    assert {one["method"] for one in apart if any("MEKA reaches" in text for text in one["reasons"])} == {"CC"}
    headings = [heading for heading, _, _ in summary(found)]
    assert headings[:3] == ["Better than the paper", "Worse than the paper", "Best average ranks"]
    assert (key_figures(Findings()), summary(Findings())) == ([], [])
    assert len(key_figures(found)) <= 8  # the terminal gets about ten lines


def test_a_cell_holds_one_number_and_nothing_is_markup():
    found = invented()
    for grid in grids(found.tables[0]):
        assert grid["head"] == ["IC", "CC", "PCC", "ECC", "CDN", "MCC", "MsCC", "PMsCC", "PtMsCC"]
        texts = [cell[view] for _, row in grid["rows"] for cell in row for view in grid["views"]]
        assert all(re.fullmatch(r"[+−]?[\d.,]+|–|DNF", text) for text in texts)
    page, tables = render(found, "page.html"), render(found, "tables.md")
    assert page == render(invented.__wrapped__(), "page.html")
    assert NASTY not in page
    assert page.index('id="explorer"') < page.index('id="summary"') < page.index("<table")
    assert "| Yeast | " in tables
    assert "| Music | svm | J_EM | truth | 1 | 0.00 | 3.00 | 5.00 | 3 | 3 | 3 |" in tables
    assert render(Findings(), "page.html").startswith("<!DOCTYPE html>")


def test_the_course_of_a_search_is_drawn():
    steps = pd.DataFrame(
        {"restart": [1] * 3 + [2] * 3, "iteration": [0, 1, 2] * 2, "accepted": [True, False, True] * 2}
    )
    steps = steps.assign(payoff=[1, 1, 3, 2, 2, 2], J_Ham=[5, 5, 4, 6, 6, 6])
    left = _draw_search(steps, {"payoff": "J_EM", "J_Ham": "J_Ham"}, "two starts")
    assert (left.get_xscale(), left.get_ylabel(), len(left.figure.axes)) == ("log", "J_EM", 2)
    for axes, name in zip(left.figure.axes, ("payoff", "J_Ham"), strict=True):
        first = axes.get_lines()[0]
        np.testing.assert_array_equal(first.get_xdata(), [1, 2, 3])
        np.testing.assert_array_equal(first.get_ydata(), steps[name][:3])
        assert len(axes.get_lines()) == 2 * 2


@pytest.fixture(scope="module")
def browser():
    driver_path = shutil.which("chromedriver")
    if driver_path is None or shutil.which("chromium") is None:
        pytest.skip("chromium and chromedriver are not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("report")
    write_report(invented(), folder)
    return (folder / "report.html").as_uri()


def open_page(browser, address, width=1280, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(address)
    return lambda script: browser.execute_script(f"return {script}")


@pytest.mark.browser
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_clipped_and_letters_stand_out(browser, address, width, scheme):
    """Also writes pictures to the folder MONTECHAIN_SCREENSHOTS, if it is set."""
    run = open_page(browser, address, width, scheme)
    assert run("document.documentElement.scrollWidth") == width
    if width == WIDTHS[0]:
        boxes = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
        assert run(boxes) == 0
    for selector in ("body", ".caption", "td.best", "th", ".badge"):
        assert run(CONTRAST.replace("SELECTOR", selector)) >= 4.5, selector  # WCAG AA
    if os.environ.get("MONTECHAIN_SCREENSHOTS"):
        browser.save_screenshot(str(Path(os.environ["MONTECHAIN_SCREENSHOTS"]) / f"report-{scheme}-{width}.png"))
    assert browser.get_log("browser") == []


@pytest.mark.browser
def test_tables_switch_and_sort(browser, address):
    run = open_page(browser, address)
    assert run("performance.getEntriesByType('resource').length") == 0  # it loads nothing but itself
    column = (
        "[...document.querySelectorAll('#accuracy .grid:first-of-type tbody tr')].map((r) => r.cells[1].textContent)"
    )
    ours = run(column)
    run("document.querySelector('#accuracy [data-view=difference]').click()")
    assert run(column) != ours
    run("document.querySelector('#accuracy [data-view=ours]').click()")
    assert run(column) == ours
    for ascending in (False, True):
        run("document.querySelectorAll('#accuracy thead button')[1].click()")
        values = run(column)
        assert values[-1] == "–"  # Parkinson's has no figure
        assert values[:-1] == sorted(values[:-1], key=float, reverse=not ascending)
    background = "getComputedStyle(document.body).backgroundColor"
    light = run(background)
    run("document.getElementById('theme').click()")
    assert run(background) != light
    assert browser.get_log("browser") == []


@pytest.mark.browser
def test_the_tree_of_the_papers_example_is_walked_by_keys(browser, address):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    run = open_page(browser, address)
    WebDriverWait(browser, 60).until(lambda _: run("document.getElementById('explorer-app').dataset.ready") == "true")
    assert run("document.querySelectorAll('.tree .node').length") == 15
    ends = run("[...document.querySelectorAll('.tree .end')].map((end) => end.textContent)")
    assert (len(ends), max(ends)) == (8, "0.216")
    assert run("document.querySelectorAll('.tree .branch.best').length") == 3
    assert NASTY in run("document.getElementById('explorer-app').textContent")
    assert run("document.images.length") == 0
    run("document.querySelector('.tree .node[tabindex=\"0\"]').focus()")
    for key, expected in (
        (Keys.ARROW_RIGHT, f"{NASTY} = 0, 0.600"), (Keys.ARROW_DOWN, f"{NASTY} = 1, 0.400"), (Keys.ARROW_UP, NASTY),
        (Keys.END, "c = 0, 0.600"), (Keys.ARROW_LEFT, "b = 0"), (Keys.HOME, "start"),
    ):  # fmt: skip
        ActionChains(browser).send_keys(key).perform()
        assert run("document.activeElement.getAttribute('aria-label')").startswith(expected)
    assert browser.get_log("browser") == []


CONTRAST = """(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => numbers(colour).slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const node = document.querySelector("SELECTOR");
  let ground = node;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)") ground = ground.parentElement;
  const pair = [getComputedStyle(node).color, getComputedStyle(ground).backgroundColor];
  const [a, b] = pair.map(light).sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
})()"""
