"""Write the report of a reproduction into a folder."""

from __future__ import annotations

from pathlib import Path

from montechain._files import atomic_write
from montechain.errors import OutputError
from montechain.experiments.report.latex import latex_tables
from montechain.experiments.report.markdown import markdown_tables
from montechain.experiments.report.page import render_page
from montechain.experiments.reproduction import Reproduction

__all__ = ["write_report"]


def write_report(reproduction: Reproduction, folder: str | Path) -> list[Path]:
    """Write the page and the tables of a reproduction.

    Parameters
    ----------
    reproduction : Reproduction
    folder : str or Path
        Made if it is not there; files of these names in it are replaced.

    Returns
    -------
    list of Path
        ``report.html``, which is complete in itself and needs no network; ``tables.md``; and ``tables.tex``, which
        needs the LaTeX package booktabs.

    Raises
    ------
    OutputError
        If they cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_report(Reproduction(), folder)]
    ['report.html', 'tables.md', 'tables.tex']
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror or error}. Name another folder.") from error
    # All of it is made before anything is written: the three files belong together.
    contents = {
        "report.html": render_page(reproduction),
        "tables.md": markdown_tables(reproduction),
        "tables.tex": latex_tables(reproduction),
    }
    for name, content in contents.items():
        with atomic_write(folder / name, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(content)
    return [folder / name for name in contents]
