"""Comparisons as tables of the page: as the paper prints them, and every figure in a row of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from montechain.experiments.paper.names import dataset_title
from montechain.experiments.report.grids import TOLERANCE, Cell, Grid, grids_of, remarks
from montechain.experiments.report.markup import element, words
from montechain.experiments.report.wording import (
    is_share,
    is_time,
    measure_title,
    number,
    plural,
    signed,
)
from montechain.experiments.reproduction import Comparison, greater_is_better

__all__ = ["comparison_html", "plain_table"]

LIST_COLUMNS = ("Data set", "Method", "Measure", "Ours", "± std", "Rank", "Paper", "Difference", "MEKA", "Notes")
NUMBERS = frozenset({"Ours", "± std", "Rank", "Paper", "Difference", "MEKA"})
LEGEND = (
    "Large: ours, with its rank; the best is coloured. P: the paper's, and ours less the paper's (of times, the "
    f"factor); ▲ better, ▼ worse by more than {TOLERANCE}; ≠ cannot be compared. M: MEKA of today, and ours less "
    "MEKA's. Small raised numbers: notes below."
)
FILTERS = {
    "": "All figures",
    "beyond": f"Beyond {TOLERANCE} of the paper",
    "better": f"Better by more than {TOLERANCE}",
    "worse": f"Worse by more than {TOLERANCE}",
    "filled": "DNF in the paper, filled here",
    "apart": "Cannot be compared",
    "meka": "Beside MEKA of today",
    "unfinished": "Not finished or not run here",
}


def comparison_html(comparison: Comparison) -> str:
    """Return the tables of one comparison with what searches, filters and sorts them."""
    grids = grids_of(comparison)
    if not grids:
        return words("p", "Nothing was computed for this table.", class_="quiet")
    has_others = bool(comparison.cells[["published", "meka"]].notna().any(axis=None))
    body = [
        _controls(comparison, grids),
        words("p", LEGEND, class_="legend") if has_others else "",
        element("div", *(_grid_html(comparison, grid) for grid in grids), class_="view grids"),
        element("div", _list_html(comparison, grids), class_="view list", hidden=True),
    ]
    return element("div", *body, class_="comparison", data_comparison=comparison.key)


def _controls(comparison: Comparison, grids: Sequence[Grid]) -> str:
    cells = [cell for grid in grids for cell in grid.cells.values()]
    there = {flag for cell in cells for flag in _flags(cell)}
    options = [words("option", title, value=flag) for flag, title in FILTERS.items() if not flag or flag in there]
    measures = [words("option", "All measures", value="")]
    measures += [words("option", measure_title(grid.measure), value=grid.measure) for grid in grids]
    parts = [
        element(
            "label", "Search ", element("input", type="search", class_="search", placeholder="data set, method, note")
        ),
        element("label", "Show ", element("select", *options, class_="flag")),
    ]
    if len(grids) > 1:
        parts.append(element("label", "Measure ", element("select", *measures, class_="measure")))
    parts.append(
        element(
            "span",
            words("button", "As in the paper", type="button", data_view="grids", aria_pressed="true"),
            words("button", "Every figure", type="button", data_view="list", aria_pressed="false"),
            class_="switch",
            role="group",
            aria_label="Form of the table",
        )
    )
    parts.append(words("output", plural(len(cells), "figure"), class_="count", aria_live="polite"))
    return element("div", *parts, class_="controls", role="search", aria_label=f"Filter: {comparison.title}")


def _grid_html(comparison: Comparison, grid: Grid) -> str:
    """Return one measure as the paper prints it; remarks are numbered below."""
    numbers = {note: i for i, note in enumerate(grid.notes, 1)}
    first = "descending" if greater_is_better(grid.measure) else "ascending"
    head = [
        _sort_header(name, "number" if i else "text", first if i else "ascending") for i, name in enumerate(grid.head)
    ]
    rows = []
    for name, cells in grid.rows:
        row = [words("th", name, scope="row", data_value=name)]
        row += [
            _grid_cell(comparison, grid, cell, numbers) if cell else words("td", "", class_="cell") for cell in cells
        ]
        rows.append(element("tr", *row))
    parts = [element("thead", element("tr", *head)), element("tbody", *rows), _rank_foot(grid)]
    notes = [words("li", note) for note in numbers]
    return element(
        "div",
        element("h4", words("span", grid.title), words("span", grid.direction, class_="quiet")),
        _scrolling(
            element("table", *parts, class_="grid turned sortable" if grid.is_turned else "grid sortable"),
            f"{comparison.title}: {grid.title}",
        ),
        element("ol", *notes, class_="notes") if notes else "",
        class_="grid-box",
        data_measure=grid.measure,
    )


def _grid_cell(comparison: Comparison, grid: Grid, cell: Cell, numbers: dict[str, int]) -> str:
    main = [words("span", grid.ours_text(cell), class_="ours")]
    if math.isfinite(cell.rank) and cell.is_there:
        main.append(words("span", f"{cell.rank:g}", class_="rank", title="rank among our methods"))
    main += [words("sup", str(numbers[remark])) for remark in remarks(cell)]
    lines = [element("div", *main)]
    published = grid.published_text(cell)
    if published:
        line = [
            words("span", "P ", class_="who", title="the paper's figure"),
            words("span", published, class_="published"),
        ]
        if cell.comparable or not math.isfinite(cell.published):
            line.append(_difference_html(cell))
        else:
            line.append(words("span", "≠", class_="apart", title="cannot be compared"))
        lines.append(element("div", *line, class_="beside"))
    if math.isfinite(cell.meka):
        line = [
            words("span", "M ", class_="who", title="MEKA of today"),
            words("span", number(cell.meka, grid.decimals)),
        ]
        if cell.is_there and is_share(cell.measure):
            line.append(words("span", signed(cell.ours - cell.meka), class_="difference"))
        lines.append(element("div", *line, class_="beside"))
    return element(
        "td", *lines,
        class_=" ".join(["cell", *(["best"] if cell.best else []), *(["filled"] if cell.is_filled else [])]),
        data_value=_value(cell.ours if cell.is_there else math.nan), data_cell=_key(comparison, cell),
    )  # fmt: skip


def _difference_html(cell: Cell) -> str:
    """Return the difference to the paper, for times the factor; its colour and arrow say which is better."""
    if is_time(cell.measure):
        if not (cell.is_there and cell.ours > 0 and math.isfinite(cell.published)):
            return ""
        factor = cell.published / cell.ours
        text = f"÷{number(factor)}" if factor >= 1 else f"×{number(1 / factor)}"
        return words("span", text, class_="difference")
    if not math.isfinite(cell.difference):
        return words("span", "filled", class_="difference new") if cell.is_filled else ""
    kind = ("better" if cell.gain > 0 else "worse") if cell.is_beyond else "near"
    arrow = {"better": "▲", "worse": "▼", "near": ""}[kind]
    text = signed(cell.difference, 3 if is_share(cell.measure) else 2)
    return words("span", f"{arrow}{text}", class_=f"difference {kind}")


def _rank_foot(grid: Grid) -> str:
    rows = []
    for title, ranks in grid.foot:
        best = min(ranks.values())
        cells = [words("th", title, scope="row")]
        for method in grid.methods:
            mark = "cell best" if ranks.get(method) == best else "cell"
            cells.append(words("td", f"{ranks[method]:.2f}" if method in ranks else "–", class_=mark))
        rows.append(element("tr", *cells))
    return element("tfoot", *rows) if rows else ""


def _list_html(comparison: Comparison, grids: Sequence[Grid]) -> str:
    """Return every figure in a row of its own."""
    head = [
        _sort_header(name, "number" if name in NUMBERS else "text", "descending" if name in NUMBERS else "ascending")
        for name in LIST_COLUMNS
    ]
    rows = [_list_row(comparison, grid, cell) for grid in grids for cell in grid.cells.values()]
    table = element("table", element("thead", element("tr", *head)), element("tbody", *rows), class_="sortable")
    return _scrolling(table, f"{comparison.title}: every figure", tall=True)


def _list_row(comparison: Comparison, grid: Grid, cell: Cell) -> str:
    ours = cell.ours if cell.is_there else math.nan
    difference = cell.difference if cell.comparable else math.nan
    cells = [words("td", text) for text in (dataset_title(cell.dataset), cell.method, measure_title(cell.measure))]
    for text, value, kind in (
        (grid.ours_text(cell), ours, "ours best" if cell.best else "ours"),
        (number(cell.ours_std, grid.decimals), cell.ours_std, ""),
        (f"{cell.rank:g}" if math.isfinite(cell.rank) else "–", cell.rank, ""),
        (grid.published_text(cell) or "–", cell.published, ""),
    ):
        cells.append(words("td", text, class_=f"number {kind}".strip(), data_value=_value(value)))
    cells.append(element("td", _difference_html(cell) or "–", class_="number", data_value=_value(difference)))
    cells.append(words("td", number(cell.meka, grid.decimals), class_="number", data_value=_value(cell.meka)))
    cells.append(words("td", " ".join(remarks(cell)), class_="note"))
    return element(
        "tr", *cells,
        data_cell=_key(comparison, cell), data_measure=cell.measure, data_flags=" ".join(_flags(cell)),
    )  # fmt: skip


def _flags(cell: Cell) -> list[str]:
    """Return the filters that let a cell pass."""
    tests = {
        "beyond": cell.is_beyond,
        "better": cell.is_beyond and cell.gain > 0,
        "worse": cell.is_beyond and cell.gain < 0,
        "filled": cell.is_filled,
        "apart": not cell.comparable,
        "meka": math.isfinite(cell.meka),
        "unfinished": not cell.is_there,
    }
    return [flag for flag, passed in tests.items() if passed]


def plain_table(head: Sequence[str], rows: Iterable[Sequence[str]], label: str, *, prose: Sequence[str] = ()) -> str:
    """Return a table of text that only scrolls: the first column names the row, those in `prose` hold words."""
    kinds = ["text" if name in prose else "number" for name in head]
    body = [
        element(
            "tr",
            words("th", row[0], scope="row"),
            *(words("td", text, class_=kind) for text, kind in zip(row[1:], kinds[1:], strict=True)),
        )
        for row in rows
    ]
    top = element("thead", element("tr", *(words("th", name, scope="col") for name in head)))
    return _scrolling(element("table", top, element("tbody", *body)), label, tall=True)


def _sort_header(name: str, kind: str, first: str) -> str:
    button = words("button", name, type="button")
    return element("th", button, scope="col", class_=kind, data_kind=kind, data_first=first, aria_sort="none")


def _scrolling(table: str, label: str, *, tall: bool = False) -> str:
    return element(
        "div", table, class_="scroll tall" if tall else "scroll", tabindex=0, role="region", aria_label=label
    )


def _value(value: float) -> str:
    return f"{value:.10g}" if math.isfinite(value) else ""


def _key(comparison: Comparison, cell: Cell) -> str:
    return " / ".join((comparison.key, cell.dataset, cell.method, cell.measure))
