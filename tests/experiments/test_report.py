"""The report: its words follow from the numbers, its tables hold them all, and no name becomes markup."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from montechain.errors import OutputError
from montechain.experiments.paper.remarks import REMARKS
from montechain.experiments.report import write_report
from montechain.experiments.report.charts import time_panels, trace_groups, trace_picture, trace_right_side, trace_steps
from montechain.experiments.report.differences import OPEN, differences
from montechain.experiments.report.findings import findings, key_figures
from montechain.experiments.report.grids import grids_of
from montechain.experiments.report.latex import latex_tables, latex_text
from montechain.experiments.report.markdown import markdown_tables, markdown_text
from montechain.experiments.report.page import render_page
from montechain.experiments.report.ranking import rankings
from montechain.experiments.report.svg import linear_ticks, logarithmic_ticks
from montechain.experiments.reproduction import Comparison, Example, Reproduction, Trace, complete_cells
from montechain.experiments.studies.significance import significance
from tests.experiments.invented_reproduction import NASTY, WORSE, invented_reproduction


@pytest.fixture(scope="module")
def reproduction() -> Reproduction:
    return invented_reproduction()


def named(reproduction: Reproduction, key: str) -> Comparison:
    return next(comparison for comparison in reproduction.comparisons if comparison.key == key)


@pytest.fixture(scope="module")
def page(reproduction) -> str:
    return render_page(reproduction)


class Elements(HTMLParser):
    """Every element with its attributes, and whether what is opened is closed in order."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def table(*rows: dict, key: str = "accuracy") -> Reproduction:
    defaults = {"dataset": "music", "method": "CC", "measure": "exact_match"}
    return Reproduction(
        [Comparison(key, "Title", "", complete_cells(pd.DataFrame([{**defaults, **row} for row in rows])))]
    )


def said(reproduction: Reproduction) -> dict[str, str]:
    return {finding.heading: " ".join((finding.text, *finding.items)) for finding in findings(reproduction)}


# The page as a whole


def test_three_files_are_written_and_named(reproduction, tmp_path):
    folder = tmp_path / "a" / "new folder"
    paths = write_report(reproduction, folder)
    assert [path.name for path in paths] == ["report.html", "tables.md", "tables.tex"]
    assert all(path.read_text(encoding="utf-8").strip() for path in paths)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in paths)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="Name another folder"):
        write_report(Reproduction(), tmp_path / "file" / "folder")


def test_the_same_numbers_give_the_same_bytes(reproduction, tmp_path):
    first = [path.read_bytes() for path in write_report(reproduction, tmp_path / "1")]
    again = [path.read_bytes() for path in write_report(Reproduction.from_json(reproduction.to_json()), tmp_path / "2")]
    assert first == again


def test_the_page_is_well_formed_and_loads_nothing(page):
    elements = Elements(page)
    assert elements.open == []
    names = {name for name, _ in elements.found}
    assert not names & {"link", "img", "iframe", "object", "embed", "base", "form", "video", "audio", "image", "use"}
    for name, attributes in elements.found:
        assert not {"src", "srcset", "style", "xlink:href", "action"} & set(attributes), (name, attributes)
        assert not [key for key in attributes if key.startswith("on")], (name, attributes)
        assert (attributes.get("href") or "#").startswith("#")
    # The one address that is left names the kind of the pictures; nothing is fetched from it.
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in page
    assert "@import" not in page


def test_the_policy_allows_this_script_and_style_only(page):
    (policy,) = [meta["content"] for meta in Elements(page).all("meta") if meta.get("http-equiv")]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_every_section_can_be_reached_and_identifiers_are_unique(page):
    elements = Elements(page)
    identifiers = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    links = {attributes["href"][1:] for attributes in elements.all("a")}
    assert links <= set(identifiers)
    assert {"summary", "table-accuracy", "ranks", "time", "searches", "explorer", "about"} <= links


def test_nothing_computed_is_said_to_be_nothing(tmp_path):
    page = render_page(Reproduction())
    assert "There is no figure to compare yet." in page
    assert not [identifier for identifier in ("ranks", "time", "searches", "explorer") if f'id="{identifier}"' in page]
    empty = Reproduction(
        [Comparison("accuracy", "Accuracy", "", complete_cells(pd.DataFrame(columns=["dataset", "method", "measure"])))]
    )
    assert "Nothing was computed for this table." in render_page(empty)
    assert len(write_report(empty, tmp_path)) == 3


# Names that look like markup


def test_dangerous_names_are_text_everywhere():
    row = {"dataset": NASTY, "method": WORSE, "measure": "x|y", "ours": 0.5, "note": NASTY, "published": 0.4}
    cells = complete_cells(pd.DataFrame([row, {**row, "method": "b"}]))
    curve = {"iteration": [0, 5], "payoff": [1.0, 2.0], "candidate": [1.0, 2.0], "accepted": [True, True]}
    nasty = Reproduction(
        comparisons=[Comparison(f"k {NASTY}", NASTY, WORSE, cells)],
        traces=[Trace("f", NASTY, WORSE, NASTY, 1, pd.DataFrame({**curve, NASTY: [WORSE, WORSE]}))],
        examples=invented_reproduction().examples[3:4],
        statistics={NASTY: {"average_ranks": {NASTY: 1.0, WORSE: 2.0}, "bayesian": [{NASTY: WORSE}]}},
        about={NASTY: {WORSE: [NASTY]}},
    )
    page = render_page(nasty)
    elements = Elements(page)
    assert elements.open == []
    assert not elements.all("img")
    assert len(elements.all("script")) == 2
    assert sum(NASTY in text for place, text in elements.texts if "script" not in place) >= 8
    data = next(text for place, text in elements.texts if place[-1:] == ("script",) and text.startswith("["))
    assert not set(data) & set("<>&\u2028\u2029")
    assert json.loads(data)[0]["labels"] == [NASTY, WORSE, "a\u2028b"]
    assert "<img" not in re.sub(r"\\<", "", markdown_tables(nasty))


def test_markdown_cells_cannot_break_their_table():
    reproduction = table({"dataset": "a|b\nc", "method": "*m*", "ours": 0.5, "note": "see [x](y) `z`"})
    text = markdown_tables(reproduction)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == r"| Data set | \*m\* |"
    assert lines[2] == r"| a\|b c | 0.500 <sup>1</sup> |"
    assert r"1. see \[x\](y) \`z\`" in text
    assert markdown_text("a_b") == r"a\_b"


def test_latex_prints_every_character_as_it_is():
    assert latex_text("\\ {} $ & # % _ ^ ~ < >").count("\\") == 12
    assert latex_text(r"\write18{rm}") == r"\textbackslash{}write18\{rm\}"
    reproduction = table({"dataset": "a_b & c", "method": "50%", "ours": 0.5, "published": 0.25, "note": "x^2"})
    text = latex_tables(reproduction)
    assert r"a\_b \& c & 0.500$^{1}$ \\" in text
    assert r" & 50\% \\" in text
    assert r"{\scriptsize 0.25}" in text
    assert r"x\textasciicircum{}2" in text


def test_latex_tables_are_whole(reproduction):
    text = latex_tables(reproduction)
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") == 13
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(labels) == len(set(labels)) == 13
    for block in re.findall(r"\\begin\{tabular\}\{(l?r*)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in block[1].splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(block[0])}


# Cells


def test_the_best_are_marked_whichever_way_is_better():
    up = grids_of(
        table({"ours": 0.3}, {"method": "MCC", "ours": 0.1 + 0.2}, {"method": "IC", "ours": 0.2}).comparisons[0]
    )[0]
    assert [cell.best for cell in up.cells.values()] == [True, True, False]
    rows = [{"ours": 0.3, "measure": "hamming_loss"}, {"method": "MCC", "ours": 0.2, "measure": "hamming_loss"}]
    down = grids_of(table(*rows, key="official").comparisons[0])[0]
    assert [cell.best for cell in down.cells.values()] == [False, True]
    assert not grids_of(table({"ours": 0.3}).comparisons[0])[0].cells["music", "CC"].best


def test_cells_without_a_figure_say_why():
    reproduction = table(
        {"ours": math.nan, "status": "DNF", "reason": "more than 60 s", "published": 0.3},
        {"method": "IC", "ours": math.nan, "status": "missing", "reason": "the data are not there"},
        {"method": "MCC", "ours": 0.25},
    )
    (grid,) = grids_of(reproduction.comparisons[0])
    assert [grid.ours_text(cell) for cell in grid.cells.values()] == ["DNF", "–", "0.250"]
    assert grid.notes == ["Did not finish: more than 60 s", "The data are not there"]
    assert said(reproduction)["Not finished here"] == ("1 cell did not finish; 1 cell was not run. CC on Music (Title)")
    assert "DNF" in markdown_tables(reproduction)
    assert "nan" not in markdown_tables(reproduction).lower()
    elements = Elements(render_page(reproduction))
    values = [a["data-value"] for a in elements.all("td") if "cell" in (a.get("class") or "") and "data-cell" in a]
    assert values == ["", "", "0.25"]


def test_a_pair_that_is_not_in_the_table_stays_empty():
    reproduction = table({"ours": 0.3}, {"dataset": "yeast", "method": "IC", "ours": 0.2})
    assert Elements(render_page(reproduction)).open == []
    rows = [line for line in markdown_tables(reproduction).splitlines() if line.startswith("| ")]
    assert rows[1:] == ["| Music | 0.300 |  |", "| Yeast |  | 0.200 |"]


def test_published_figures_keep_the_decimals_they_were_printed_with():
    rows = [{"ours": 0.8, "published": 0.8}, {"method": "MCC", "ours": 0.77, "published": 0.77}]
    (grid,) = grids_of(table(*rows).comparisons[0])
    assert [grid.published_text(cell) for cell in grid.cells.values()] == ["0.80", "0.77"]
    (times,) = grids_of(table({"ours": 0.123, "published": 1347, "measure": "build_time_s"}, key="time").comparisons[0])
    assert times.published_text(times.cells["music", "CC"]) == "1,347"
    assert times.ours_text(times.cells["music", "CC"]) == "0.123"


def test_cells_the_paper_could_not_fill_are_recognised(reproduction):
    cells = {
        (c.dataset, c.method): c for grid in grids_of(named(reproduction, "accuracy")) for c in grid.cells.values()
    }
    assert {key for key, cell in cells.items() if cell.is_filled} == {
        (name, "PCC") for name in ("yeast", "genbase", "medical", "enron", "reuters")
    }
    official = grids_of(named(reproduction, "official"))[0]
    assert official.published_text(official.cells["genbase", "RF-PCT"]) == "N/A"
    assert official.cells["tmc2007", "MsCC"].is_filled
    text = said(reproduction)["Filled: DNF in the paper"]
    assert "PCC on Yeast, Genbase, Medical, Enron and Reuters" in text
    assert "MsCC on TMC2007" in text


# The summary


def test_the_summary_counts_what_agrees():
    reproduction = table(
        {"ours": 0.33, "published": 0.30, "difference": 0.33 - 0.30},
        {"method": "MCC", "ours": 0.4, "published": 0.3, "difference": 0.1},
        {"method": "IC", "ours": 0.2, "published": 0.3, "difference": -0.1, "note": "another base classifier"},
        {
            "method": "PCC",
            "ours": 0.2,
            "published": 0.9,
            "difference": math.nan,
            "comparable": False,
            "note": "misprint",
        },
    )
    text = said(reproduction)
    assert text["Agreement"] == (
        "1 of 3 comparable figures lie within 0.03 of the paper; the median distance is 0.100. "
        "Of the 2 others, something is known about 1, and 1 is open; all are listed below."
    )
    assert (
        "MCC on Music, exact match: 0.400 against 0.300 (+0.100). Open: not explained." in text["Better than the paper"]
    )
    assert "(−0.100). another base classifier" in text["Worse than the paper"]
    assert text["What cannot be compared"] == "1 cell, and why: Music (1 cell): misprint"
    assert [key.figure for key in key_figures(reproduction)] == ["1 of 3", "0.100", "1 / 1"]


def test_every_difference_is_listed_with_what_is_known():
    majority = next(remark.text for remark in REMARKS if not remark.explains)
    beyond = {"ours": 0.40, "published": 0.30, "difference": 0.10}
    reproduction = table(
        {"ours": 0.33, "published": 0.30, "difference": 0.03},
        {"method": "IC", **beyond, "note": "Another base classifier."},
        {"method": "LP", **beyond, "note": majority},
        {"method": "ECC", **beyond, "meka": 0.38},
        {"method": "PCC", **beyond, "meka": 0.34},
        {"method": "BCC", **beyond, "meka": 0.40, "note": "MEKA: 67% split."},
        {"method": "CDN", **beyond, "ours_std": 0.12, "n": 5},
        {"method": "MCC", **beyond, "ours_std": 0.11, "n": 5},
    )
    assert {own.cell.method: own.text for own in differences(reproduction.comparisons)} == {
        "IC": "Another base classifier.",
        "LP": f"{OPEN} {majority}",  # good to know, but no reason
        "ECC": "MEKA as it is today has 0.380.",
        "PCC": OPEN,  # MEKA is nearer to the paper
        "BCC": OPEN,  # MEKA was measured otherwise
        "CDN": "Within two standard errors of our mean over 5 parts (±0.107).",
        "MCC": OPEN,
    }
    lines = markdown_tables(reproduction).split("## Every difference beyond 0.03")[1].split("##")[0].splitlines()
    assert sum(line.startswith("|") for line in lines) == 2 + 7
    assert "What is known about it" in render_page(reproduction)
    close = table({"ours": 0.33, "published": 0.30, "difference": 0.03})
    assert "Every difference" not in render_page(close) + markdown_tables(close)


def test_cells_carry_rank_difference_spread_and_certificate():
    row = {"ours": 0.33, "published": 0.30, "difference": 0.03, "rank": 2.0, "ours_std": 0.02, "published_std": 0.01}
    assert "| 0.330 [2] (0.3, +0.030) |" in markdown_tables(table(row))
    assert "0.330 ± 0.020 [2] (0.3 ± 0.010, +0.030)" in markdown_tables(table(row, key="payoffs"))
    text = latex_tables(table({**row, "meka": 0.31}))
    assert "0.330$_{2}$" in text
    assert r"{\scriptsize published} & {\scriptsize 0.3 (+0.030)}" in text
    assert r"{\scriptsize MEKA} & {\scriptsize 0.310}" in text
    filled = {"dataset": "yeast", "method": "PCC", "ours": 0.2}
    rows = [{**filled, "certified": 1.0}, {**filled, "dataset": "enron", "certified": 0.98}]
    assert "best under its model, at least: PCC 98.0%." in said(table(*rows))["Filled: DNF in the paper"]


def test_baselines_are_never_the_best():
    grid = grids_of(
        table({"ours": 0.3}, {"method": "MCC", "ours": 0.4}, {"method": "Majority", "ours": 0.5}).comparisons[0]
    )[0]
    assert {method for (_, method), cell in grid.cells.items() if cell.best} == {"MCC"}


def test_a_smaller_loss_is_better():
    row = {"measure": "hamming_loss", "ours": 0.1, "published": 0.2, "difference": -0.1}
    assert "Better than the paper" in said(table(row, key="official"))


def test_meka_and_times_are_compared_on_their_own():
    text = said(table({"ours": 0.30, "meka": 0.31}, {"method": "MCC", "ours": 0.30, "meka": 0.4}))
    assert text["Beside MEKA as it is today"].startswith("1 of 2 figures of CC and MCC lie within 0.03 of MEKA")
    assert "MCC on Music" in text["Beside MEKA as it is today"]
    timed = table({"measure": "running_time_s", "ours": 2.0, "published": 100.0, "difference": -98.0}, key="time")
    assert "Agreement" not in said(timed)
    assert "by a factor of 50.0 in the median" in said(timed)["Time"]


def test_figures_of_other_tables_are_not_counted_twice(reproduction):
    kept = [named(reproduction, key) for key in ("accuracy", "time", "official", "payoffs")]
    without = Reproduction(kept, statistics=reproduction.statistics)
    for heading in ("Agreement", "Filled: DNF in the paper", "What cannot be compared", "Not finished here"):
        assert said(reproduction)[heading] == said(without)[heading]


def test_meka_is_held_against_its_own_order_of_labels(reproduction):
    text = said(reproduction)["Beside MEKA as it is today"]
    assert text.startswith("20 of 20 figures of IC, CC, PCC and MCC lie within 0.03 of MEKA")
    assert "and order of labels" in text


def test_agreement_is_weighted_by_rows(reproduction):
    text = said(reproduction)["Do they find the same vectors?"]
    assert "by branch and bound: the same in 100.00% of 593 rows on 1 data set" in text
    assert (
        f"the same in {(0.995 * 593 + 0.99 * 1702) / 2295:.2%} of 2,295 rows on 2 data sets; least on Enron, 99.00%"
        in text
    )
    assert not any(cell.best for grid in grids_of(named(reproduction, "agreement")) for cell in grid.cells.values())


def test_payoffs_know_no_tolerance_and_many_orders_go_down(reproduction):
    (grid, predicted) = grids_of(named(reproduction, "music_orders"))
    assert grid.is_turned
    assert grid.head == ["Order", "Music"]
    assert [len(cells) for _, cells in grid.rows] == [1] * len(grid.methods)
    assert not any(cell.is_compared for cell in grid.cells.values())
    assert predicted.title == "J_EM on prediction"
    assert "| 3 5 0 1 4 2 |" in markdown_tables(reproduction)


def test_tables_come_in_the_order_of_reading(page):
    found = re.findall(r'<section id="table-(.*?)"', page)
    assert found == ["accuracy", "time", "official", "natural_order", "agreement", "payoffs", "music_orders"]


# Pictures


def test_ranks_of_the_paper_stand_beside_ours(reproduction):
    exact, hamming = rankings(reproduction)
    assert (exact.measure, hamming.measure) == ("exact_match", "hamming_score")
    assert exact.published["PMsCC"] == pytest.approx(2.73, abs=0.01)
    assert exact.published_critical_difference == pytest.approx(3.33, abs=0.01)
    assert exact.ranks == reproduction.statistics["exact_match"]["average_ranks"]
    assert exact.tested == reproduction.statistics["exact_match"]["nemenyi"]["average_ranks"]


def test_too_few_data_sets_for_a_test_still_give_a_page():
    found = significance(pd.DataFrame({"CC": [0.3], "MCC": [0.4]}, index=["music"]), "exact_match")
    page = render_page(Reproduction(statistics={"exact_match": found}))
    assert "As published" in page
    assert "critical difference nan" not in page
    assert rankings(Reproduction(statistics={"exact_match": significance(pd.DataFrame(), "exact_match")})) == []


def test_time_against_accuracy_pairs_the_two_tables(reproduction):
    panels = time_panels(reproduction)
    assert [panel.dataset for panel in panels] == ["scene", "yeast", "genbase", "medical", "enron", "reuters"]
    yeast = panels[1]
    assert len(yeast.ours) == 9
    assert len(yeast.published) == 8  # PCC did not finish
    assert yeast.time == "running_time_s"
    assert np.isfinite(yeast.ours[["seconds", "score"]].to_numpy()).all()
    assert time_panels(Reproduction([named(reproduction, "accuracy")])) == []


def test_searches_are_grouped_by_what_they_maximise(reproduction):
    groups = trace_groups(reproduction.traces)
    assert [[trace.seed for trace in group] for group in groups] == [[1, 2]] * 3
    assert [trace_right_side(group) for group in groups] == ["J_EM_prod", "J_EM_prod", "J_EM"]
    music = trace_picture(groups[0])
    assert music.count('class="curve side0') == music.count('class="curve side1') == 2
    assert "optimum 190.00" in music
    assert "optimum" not in trace_picture(groups[1])


def test_a_search_of_one_step_can_be_drawn():
    curve = pd.DataFrame({"iteration": [0], "payoff": [3.0], "candidate": [3.0], "accepted": [True]})
    picture = trace_picture([Trace("music_orders", "music", "J_EM", "truth", 0, curve)])
    assert "nan" not in picture


def test_improvements_are_listed_as_in_the_paper():
    curve = pd.DataFrame(
        {"iteration": [0, 1, 2, 3], "payoff": [1.0, 1.0, 2.0, 2.0], "candidate": [1.0, 0.5, 2.0, 2.0],
         "accepted": [False, False, True, True], "J_Ham": [5.0, 5.0, 6.0, 6.0]}
    )  # fmt: skip
    kept = trace_steps(Trace("music_orders", "music", "J_EM", "truth", 0, curve))
    assert kept.to_numpy().tolist() == [[0.0, 1.0, 5.0], [2.0, 2.0, 6.0]]


@pytest.mark.parametrize("values", [[0.0], [1e-9, 1e9], [-3.0, -3.0], [0.1, 0.1 + 1e-15], [5, 7]])
def test_ticks_enclose_the_values(values):
    ticks = linear_ticks(values)
    assert ticks[0] <= min(values)
    assert ticks[-1] >= max(values)
    assert 2 <= len(ticks) <= 12


def test_logarithmic_ticks_enclose_the_values():
    for values in ([1.0], [0.02, 3.0], [10.0, 10.0], [999.0, 1001.0]):
        ticks = logarithmic_ticks(values)
        assert ticks[0] <= min(values) * (1 + 1e-9)
        assert ticks[-1] >= max(values) * (1 - 1e-9)
        assert len(ticks) >= 2


def test_pictures_hold_no_number_that_is_not_finite(page):
    assert not re.findall(r'(?:d|x|y|cx|cy|width)="[^"]*(?:nan|inf)', page)


# The explorer


def test_examples_arrive_as_they_are(page, reproduction):
    texts = Elements(page).texts
    data = json.loads(next(text for place, text in texts if place[-1:] == ("script",) and text.startswith("[")))
    assert len(data) == len(reproduction.examples)
    paper = data[3]
    assert paper["top"][0] == [["small", WORSE, NASTY], 0.216]
    assert [node for node in paper["tree"] if node[2]] == [
        [[], 1.0, True], [[0], 0.6, True], [[0, 2], 0.36, True], [[0, 2, 1], 0.216, True]
    ]  # fmt: skip
    assert len(paper["tree"]) == 1 + 2 + 6 + 12


def test_numbers_of_numpy_are_understood():
    codes = np.array([0, 1])
    tree = [{"prefix": codes[:i], "probability": np.float64(0.5), "best": np.bool_(True)} for i in range(3)]
    top = [(["0", "1"], np.float32(0.5))]
    classes, order = [["0", "1"]] * 2, np.array([1, 0])
    one = Example("d", np.int64(1), ["a", "b"], order, classes, ["0", None], top, np.bool_(True), tree)
    assert Elements(render_page(Reproduction(examples=[one]))).open == []
