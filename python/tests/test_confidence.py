"""Confidence intervals against tables and against the program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import quell
from quell import _binary
from quell._confidence import student_t


@pytest.mark.parametrize(
    ("freedom", "level", "t"),
    # Published tables of the t distribution: two-sided.
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (3, 0.95, 3.182), (4, 0.95, 2.776), (9, 0.95, 2.262), (9, 0.99, 3.250)]
    + [(30, 0.95, 2.042), (120, 0.95, 1.980), (5, 0.5, 0.727)],
)
def test_t_is_that_of_the_tables(freedom: int, level: float, t: float) -> None:
    assert student_t(level, freedom) == pytest.approx(t, abs=0.0006)


def test_an_interval_is_that_of_the_program(scenario: Path, tmp_path: Path) -> None:
    command = ["run", "--json", "--confidence", "0.9", "--set", "run.seeds=[1,2,3]", "--out", str(tmp_path / "out"), str(scenario)]
    printed = json.loads(subprocess.run([_binary.find(), *command], capture_output=True, check=True).stdout)
    result = quell.Result(tmp_path / "out")
    for index in (0, 1):
        theirs = printed["groups"][index]["delay_ms"]["mean"]["confidence_interval"]
        ours = quell.confidence_interval(result.aggregate["groups"][index]["delay_ms"]["mean"], 0.9)
        assert ours is not None
        assert list(ours) == pytest.approx(theirs, rel=1e-9)


def test_one_run_has_no_interval_and_levels_are_shares() -> None:
    assert quell.confidence_interval({"mean": 1.0, "standard_error": None, "n": 1}) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        quell.confidence_interval({"mean": 1.0, "standard_error": 0.1, "n": 3}, 95)
