"""The fixture `quell_link` for pytest: links for a test, closed when it ends.

    def test_page(quell_link):
        link = quell_link(profile="dsl", queue="dualpi2")
        assert link.run(["curl", "-s", URL], check=True).seconds < 1

Where this host can make no link the test is skipped, with the reason; with `--quell-required` it fails.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from quell import _binary
from quell._link import Link


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--quell-required`."""
    parser.addoption("--quell-required", action="store_true", help="fail where no link can be made, instead of skipping the test")


@cache
def _obstacle() -> str | None:
    """Why this host makes no link."""
    ended = subprocess.run([_binary.find(), "exec", "--quiet", "--", "true"], capture_output=True, text=True)
    return None if ended.returncode == 0 else ended.stderr.strip()


@pytest.fixture
def quell_link(request: pytest.FixtureRequest) -> Iterator[Callable[..., Link]]:
    """Starts links with the options of `quell exec`."""
    links: list[Link] = []

    def start(**options: str) -> Link:
        obstacle = _obstacle()
        if obstacle is not None:
            if request.config.getoption("--quell-required", default=False):
                pytest.fail(obstacle, pytrace=False)
            pytest.skip(obstacle)
        links.append(Link(**options))
        return links[-1]

    yield start
    for link in links:
        link.close()
