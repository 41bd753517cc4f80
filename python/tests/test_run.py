"""`run` and `compare` with the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import quell
from conftest import SCENARIO


def test_a_run_repeats_and_a_change_of_the_link_shows(scenario: Path, tmp_path: Path) -> None:
    first = quell.run(scenario, out=tmp_path / "a", seed=1)
    again = quell.run(scenario, out=tmp_path / "b", seed=1)
    fast = quell.run(scenario, set={"link.rate": "20mbit"}, out=tmp_path / "c")
    assert first.summary == again.summary
    assert first.summary["link"]["rate_bps"] == 10_000_000
    assert fast.summary["link"]["rate_bps"] == 20_000_000
    assert first.facts["version"] == quell.__version__
    assert not first.partial


def test_without_out_each_result_gets_a_folder_of_its_own(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = {quell.run(scenario).folder for _ in range(2)}
    assert len(folders) == 2
    assert all(folder.parent == Path("results") and folder.is_dir() for folder in folders)


def test_a_scenario_may_be_a_table_or_text(tmp_path: Path) -> None:
    table = {
        "schema": 1,
        "name": "small",
        "link": {"rate": "10mbit", "queue": "dualpi2"},
        "group": [
            {"name": "l4s", "count": 2, "congestion-control": "dctcp", "ecn": "ect1", "rtt": "10ms", "app": "bulk"},
            {"name": "classic", "rtt": "10ms", "app": "bulk"},
        ],
        "run": {"duration": "3s", "warmup": "1s"},
    }
    from_table = quell.run(table, out=tmp_path / "table")
    from_text = quell.run(quell.Text(SCENARIO), out=tmp_path / "text")
    assert from_table.summary == from_text.summary
    again = quell.run(quell.Text(from_table.scenario), out=tmp_path / "again")
    assert again.summary == from_table.summary


def test_set_takes_tables_lists_numbers_and_truth(scenario: Path, tmp_path: Path) -> None:
    changes = {
        "link.queue": {"kind": "dualpi2", "target": "5ms", "any_ect": True},
        "group.l4s.count": 3,
        "run.seeds": [7],
    }
    result = quell.run(scenario, set=changes, out=tmp_path / "out")
    assert result.summary["groups"][0]["count"] == 3
    assert result.summary["seed"] == 7
    assert 'target = "5ms"' in result.scenario
    assert "any_ect = true" in result.scenario


def test_each_error_of_a_scenario_has_its_place_and_its_fix(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(SCENARIO.replace('"10mbit"', '"5: x"'))
    with pytest.raises(quell.InputError) as caught:
        quell.run(path, set={"link.mpuu": 1}, out=tmp_path / "out")
    error = caught.value
    assert (error.file, error.line, error.key) == (str(path), 4, "link.rate")
    assert error.fix == "must be a rate from 1kbit to 1tbit"
    assert error.problems[0].found == '"5: x"'
    assert error.problems[1].argument == "--set link.mpuu=1"
    assert "did you mean mpu" in error.problems[1].fix
    # As quell says it, which is what people see in a traceback.
    assert str(error.problems[0]) in str(error)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scenario": "no-such-file.toml"}, "No such file"),
        ({"set": {"link": "="}}, "link"),
        ({"arguments": ["--no-such-option"]}, "--no-such-option"),
        ({"kernel": "none"}, "--world virtual"),
        ({"duration": "soon"}, "soon"),
    ],
)
def test_other_wrong_input_is_an_input_error(scenario: Path, tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"scenario": scenario, "out": tmp_path / "out", **arguments}
    with pytest.raises(quell.InputError, match=message):
        quell.run(**given)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_no_result_is_overwritten(scenario: Path, tmp_path: Path) -> None:
    quell.run(scenario, out=tmp_path / "out")
    before = (tmp_path / "out" / "run.json").read_bytes()
    with pytest.raises(quell.QuellError, match="exist"):
        quell.run(scenario, out=tmp_path / "out")
    assert (tmp_path / "out" / "run.json").read_bytes() == before


def test_names_may_have_spaces_other_letters_and_a_dash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mit Lücke – 計測"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("-ö=ß .toml").write_text(SCENARIO)
    Path("-").write_text(SCENARIO)
    result = quell.run("-ö=ß .toml", out="--aus gabe", packets=True)
    assert result.folder.resolve().parent == folder
    assert next(iter(result.packets()))
    assert quell.run("-", out="b").summary == result.summary
    both = quell.compare(Path("-ö=ß .toml"), ["fifo", "pie"], out="vergleich ñ")
    assert [one.folder.parent.name for one in both.values()] == ["vergleich ñ"] * 2


def test_compare_keeps_order_and_names_of_queues(scenario: Path, tmp_path: Path) -> None:
    queues: list[Any] = ["pie", "fifo:limit=20ms", {"kind": "dualpi2", "target": "5ms", "any_ect": True}]
    compared = quell.compare(scenario, queues, out=tmp_path / "out")
    assert list(compared) == ["pie", "fifo:limit=20ms", "dualpi2:target=5ms,any_ect=true"]
    # Nobody has named seeds.
    assert [sorted(one.seeds) for one in compared.values()] == [[1, 2, 3]] * 3
    delay = compared["fifo:limit=20ms"].seeds[1].summary["groups"][1]["delay_ms"]
    assert delay is not None
    assert delay["max"] <= 20
    text = str(compared)
    assert text.count("classic") == 3
    assert "<svg" in compared._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_compare_takes_several_seeds_into_the_default_folder(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    compared = quell.compare(scenario, ["fifo", "pie"], set={"run.seeds": [1, 2]})
    assert [sorted(one.seeds) for one in compared.values()] == [[1, 2], [1, 2]]
    assert " ± " in str(compared)


def test_seeds_are_several_of_one_scenario(scenario: Path, tmp_path: Path) -> None:
    result = quell.run(scenario, seeds=range(3, 5), out=tmp_path / "out")
    assert sorted(result.seeds) == [3, 4]
    compared = quell.compare(scenario, ["fifo", "pie"], seeds=[7, 9], out=tmp_path / "both")
    assert [sorted(one.seeds) for one in compared.values()] == [[7, 9]] * 2


@pytest.mark.parametrize(("seeds", "seed", "message"), [(3, None, "list of numbers"), ("12", None, "list of numbers"), ([1], 1, "one of them")])
def test_seeds_that_are_no_list_are_refused(scenario: Path, seeds: Any, seed: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        quell.run(scenario, seeds=seeds, seed=seed)


TABLE = {
    "schema": 1,
    "name": "table",
    "link": {"rate": "10mbit", "queue": "pie"},
    "group": [{"name": "one", "rtt": "10ms", "app": "bulk"}],
    "run": {"duration": "2s", "warmup": "1s"},
}


def test_an_error_in_a_table_names_the_line_that_gave_it_and_in_a_text_its_own(tmp_path: Path) -> None:
    with pytest.raises(quell.InputError) as caught:
        quell.run({**TABLE, "link": {"rate": "fast", "queue": "pie"}}, out=tmp_path / "out")
    error = caught.value
    line = caught.tb.tb_lineno
    assert error.file == f"scenario table at test_run.py:{line}"
    assert (error.line, error.key) == (None, "link.rate")
    assert f'\nscenario table at test_run.py:{line}: link.rate = "fast": must be a rate' in str(error)
    with pytest.raises(quell.InputError, match='\nscenario text:4: link.rate = "fast": must be a rate') as caught:
        quell.run(quell.Text(SCENARIO.replace("10mbit", "fast")), out=tmp_path / "out")
    assert (caught.value.file, caught.value.line) == ("scenario text", 4)


@pytest.mark.parametrize("queues", [[], "fifo"])
def test_compare_wants_a_list(scenario: Path, queues: object) -> None:
    with pytest.raises(ValueError, match="list"):
        quell.compare(scenario, queues)  # type: ignore[arg-type]


def test_strict_keeps_a_result_with_warnings(scenario: Path, tmp_path: Path) -> None:
    # A fifo never marks, so a group that asks for marks gets a warning.
    result = quell.run(scenario, set={"link.queue": {"kind": "fifo"}}, out=tmp_path / "out", arguments=["--strict"])
    assert any("never marks" in warning for warning in result.warnings)
    assert f"warning: {result.warnings[0]}" in str(result)
    compared = quell.compare(scenario, ["fifo"], out=tmp_path / "both", arguments=["--strict"])
    assert compared["fifo"].warnings == result.warnings


def test_people_feel_what_the_terminal_says(tmp_path: Path) -> None:
    text = SCENARIO.replace("[run]", '[[group]]\nname = "item"\nrtt = "10ms"\napp = { kind = "web", rate = 10, size = "2kB" }\n\n[run]')
    compared = quell.compare(quell.Text(text), ["fifo", "dualpi2"], seeds=[1, 2], out=tmp_path / "out")
    people = compared.people()
    assert people["conclusion"][0].startswith("Asked: ")
    assert len(people["words"]) == 2 and "an item of the web takes" in people["words"][0]
    row = next(row for row in people["rows"] if row["who"] == "item")
    assert row["unit"] == "ms" and not row["more_is_better"]
    assert [len(values) for values in row["values"]] == [2, 2]
    alone = compared["fifo"].people()
    assert alone["rows"][0]["values"] == [people["rows"][0]["values"][0]]
