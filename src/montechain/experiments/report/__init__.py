"""A reproduction as something to read: a page, and tables for Markdown and LaTeX."""

from montechain.experiments.report.writing import write_report

__all__ = ["write_report"]
