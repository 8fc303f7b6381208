"""A real browser, where there is one."""

from __future__ import annotations

import pytest

from tests.browser.devtools import Browser, find_chromium


@pytest.fixture(scope="session")
def browser():
    """Return a headless Chromium that is closed in the end, or skip the test and say why."""
    program = find_chromium()
    if program is None:
        pytest.skip("there is no Chromium here: none of chromium, chromium-browser, google-chrome is on the path")
    with Browser(program) as running:
        yield running
