"""The tables in LaTeX, with booktabs."""

from __future__ import annotations

import math

from montechain.experiments.report.grids import Cell, Grid, grids_of, in_reading_order, remarks
from montechain.experiments.report.wording import is_share, is_time, number, signed
from montechain.experiments.reproduction import Comparison, Reproduction

__all__ = ["latex_tables", "latex_text"]

ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "–": "--", "−": "$-$", "±": r"$\pm$", "≥": r"$\ge$", "≤": r"$\le$",
    "×": r"$\times$", "≻": r"$\succ$", "²": r"$^2$", "χ": r"$\chi$", "β": r"$\beta$", "ε": r"$\epsilon$",
    "…": r"\ldots{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> print(latex_text(r"50% of a_b & \input{x}"))
    50\% of a\_b \& \textbackslash{}input\{x\}
    """
    return "".join(ESCAPES.get(character, character) for character in " ".join(text.split()))


def latex_tables(reproduction: Reproduction) -> str:
    r"""Return every table: in each cell ours with its rank, best in bold, and under it the paper's and MEKA's.

    Examples
    --------
    >>> latex_tables(Reproduction()).splitlines()[0]
    '% Tables of a reproduction. Needs \\usepackage{booktabs}; with UTF-8 input.'
    """
    parts = [r"% Tables of a reproduction. Needs \usepackage{booktabs}; with UTF-8 input."]
    for comparison in in_reading_order(reproduction.comparisons):
        parts += [_grid(comparison, grid) for grid in grids_of(comparison)]
    return "\n\n".join(parts) + "\n"


def _grid(comparison: Comparison, grid: Grid) -> str:
    marks = {note: i for i, note in enumerate(grid.notes, 1)}
    lines = [" & ".join(["", *map(latex_text, grid.head[1:])]) + r" \\", r"\midrule"]
    for name, cells in grid.rows:
        lines.append(_row(name, ["" if cell is None else _ours(grid, cell, marks) for cell in cells]))
        for who, texts in (
            ("published", ["" if cell is None else _published(grid, cell) for cell in cells]),
            (
                "MEKA",
                ["" if cell is None or math.isnan(cell.meka) else number(cell.meka, grid.decimals) for cell in cells],
            ),
        ):
            if any(texts):
                small = [rf"{{\scriptsize {latex_text(text)}}}" if text else "" for text in texts]
                lines.append(r" & ".join([rf"\quad{{\scriptsize {who}}}", *small]) + r" \\")
    for i, (name, ranks) in enumerate(grid.foot):
        lines += [r"\midrule"] if i == 0 else []
        lines.append(_row(name, [f"{ranks[method]:.2f}" if method in ranks else "" for method in grid.methods]))
    caption = f"{comparison.title}: {grid.title} ({grid.direction}). {comparison.caption}".strip()
    notes = [rf"{{\footnotesize $^{{{i}}}$ {latex_text(note)}\par}}" for note, i in marks.items()]
    label = "".join(c for c in f"{comparison.key}-{grid.measure}".replace("_", "-") if c.isalnum() or c == "-")
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(caption)}}}",
            rf"\label{{tab:{label}}}",
            r"\footnotesize",
            rf"\begin{{tabular}}{{l{'r' * (len(grid.head) - 1)}}}",
            r"\toprule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            *([r"\par\smallskip\raggedright", *notes] if notes else []),
            r"\end{table}",
        ]
    )


def _row(title: str, cells: list[str]) -> str:
    return " & ".join([latex_text(title), *cells]) + r" \\"


def _published(grid: Grid, cell: Cell) -> str:
    """Return the paper's figure, and ours less it."""
    text = grid.published_text(cell)
    difference = "" if is_time(cell.measure) else signed(cell.difference, 3 if is_share(cell.measure) else 2)
    return f"{text} ({difference})" if text and difference else text


def _meka(grid: Grid, cell: Cell) -> str:
    return number(cell.meka, grid.decimals) if math.isfinite(cell.meka) else ""


def _ours(grid: Grid, cell: Cell, marks: dict[str, int]) -> str:
    text = latex_text(grid.ours_text(cell))
    text = rf"\textbf{{{text}}}" if cell.best else text
    if cell.is_there and math.isfinite(cell.rank):
        text += f"$_{{{cell.rank:g}}}$"
    numbers = ",".join(str(marks[remark]) for remark in remarks(cell))
    return text + (f"$^{{{numbers}}}$" if numbers else "")
