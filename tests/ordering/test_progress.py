from __future__ import annotations

import io

import pytest

from montechain.ordering.progress import search_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(stream, n_steps=40):
    with search_progress(n_steps, stream=stream) as on_step:
        for t in range(n_steps):
            on_step({"restart": 0, "iteration": t, "payoff": float(t % 30)})
    return stream.getvalue()


def test_a_line_for_every_tenth_where_there_is_no_terminal():
    lines = run(io.StringIO()).splitlines()
    assert len(lines) == 10
    assert lines[0] == "order search: 4 of 40, payoff 3"
    assert lines[-1] == "order search: 40 of 40, payoff 29"  # the best so far, not the last


def test_a_bar_on_a_terminal():
    text = run(Terminal())
    assert "40/40" in text
    assert "payoff 29" in text


def test_standard_error_is_the_default(capsys):
    with search_progress(1) as on_step:
        on_step({"payoff": 1.5})
    assert capsys.readouterr().err == "order search: 1 of 1, payoff 1.5\n"


def test_the_bar_is_closed_if_the_search_fails():
    stream = Terminal()
    with pytest.raises(KeyError), search_progress(3, stream=stream) as on_step:
        [on_step(row) for row in ({"payoff": 1.0}, {})]
    assert stream.getvalue().endswith("\n\x1b[?25h")  # the cursor is shown again
