"""The package as a whole: what it needs, its types, its pages, its examples."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import quell
from conftest import ROOT
from quell import _binary

SOURCE = ROOT / "python" / "src"
PAGES = [ROOT / "docs" / "guides" / "python.md", ROOT / "python" / "README.md"]


def _python(code: str, folder: Path, python: str = sys.executable, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "MPLBACKEND": "agg", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_but_python_is_needed_to_run_and_to_read_figures(tmp_path: Path, scenario: Path) -> None:
    code = f"""
        import sys
        for name in ("pyarrow", "matplotlib", "numpy", "pandas", "typing_extensions", "dask"):
            sys.modules[name] = None
        import quell, quell.types
        result = quell.run({str(scenario)!r}, out="out", packets=True)
        print(result.summary["scenario"], len(result._repr_html_()) > 500, result.histogram(group="l4s").total > 0)
        print(next(iter(result.packets()))["queue"])
        for wanted, extra in ((result.flows, "arrow"), (result.plot.ccdf, "plot"), (result.packets().table, "arrow")):
            try:
                wanted()
            except quell.MissingExtra as error:
                print(extra in str(error), isinstance(error, ImportError))
    """
    ran = _python(textwrap.dedent(code), tmp_path)
    assert ran.stdout.split() == ["small", "True", "True", "l4s"] + ["True"] * 6, ran.stderr


def test_importing_is_quick_and_imports_nothing_optional(tmp_path: Path) -> None:
    code = "import sys, quell; print(sorted({'pyarrow', 'matplotlib', 'numpy', 'asyncio', 'dask'} & set(sys.modules)))"
    assert _python(code, tmp_path).stdout == "[]\n"


def test_the_types_are_those_of_the_schema() -> None:
    schema = subprocess.run([_binary.find(), "schema", "summary"], capture_output=True, check=True).stdout
    made = subprocess.run(
        [sys.executable, str(ROOT / "python" / "tools" / "summary_types.py")], input=schema, capture_output=True, check=True
    ).stdout
    path = SOURCE / "quell" / "types.py"
    if os.environ.get("QUELL_BLESS"):
        path.write_bytes(made)
    assert made == path.read_bytes(), "QUELL_BLESS=1 writes it anew"


def test_a_summary_obeys_the_schema(kept: quell.Result) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(subprocess.run([_binary.find(), "schema", "summary"], capture_output=True, check=True).stdout)
    jsonschema.validate(kept.summary, schema)


def test_pandas_and_polars_take_the_series(kept: quell.Result) -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = kept.flows(["time_s", "group", "goodput_bps"]).to_pandas()
    assert isinstance(frame["group"].dtype, pandas.CategoricalDtype)
    means = frame.groupby("group", observed=True)["goodput_bps"].mean()
    lazy = polars.from_arrow(kept.flows(["time_s", "group", "goodput_bps"]))
    assert lazy["group"].dtype == polars.Categorical
    again = {row["group"]: row["goodput_bps"] for row in lazy.group_by("group").mean().to_dicts()}
    assert again["l4s"] == pytest.approx(means["l4s"])


def test_the_figures_of_groups_are_a_frame_of_what_is_installed(kept: quell.Result, seeds: quell.Result, scenario: Path, tmp_path: Path) -> None:
    rows = seeds.frame("list")
    assert [(row["seed"], row["group"]) for row in rows] == [(1, "l4s"), (1, "classic"), (2, "l4s"), (2, "classic")]
    group = seeds.seeds[2].summary["groups"][0]
    assert group["delay_ms"] is not None
    assert rows[2]["delay_ms.p99"] == group["delay_ms"]["p99"]
    assert rows[2]["goodput_bps"] == pytest.approx(sum(group["goodput_bps"]) / 2)
    compared = quell.compare(scenario, ["fifo", "pie"], out=tmp_path / "out")
    rows = compared.frame("list")
    assert [(row["queue"], row["seed"]) for row in rows[::2]] == [(queue, seed) for queue in ("fifo", "pie") for seed in (1, 2, 3)]
    with pytest.raises(ValueError, match="polars"):
        kept.frame("excel")  # type: ignore[arg-type]
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = compared.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert isinstance(compared.frame("polars"), polars.DataFrame)
    assert frame.groupby("queue")["delay_ms.mean"].max()["pie"] == compared.frame("polars").filter(polars.col("queue") == "pie")["delay_ms.mean"].max()
    # Where one is missing it is the other, and without both a list.
    code = f"""
        import sys, quell
        result = quell.Result({str(kept.folder)!r})
        for missing in ("pandas", "polars"):
            sys.modules[missing] = None
            print(type(result.frame()).__module__.split(".")[0])
    """
    assert _python(textwrap.dedent(code), tmp_path).stdout.split() == ["polars", "builtins"]


@pytest.mark.slow
def test_pip_installs_the_package_beside_a_program_that_is_built(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    bin = tmp_path / "venv" / "bin"
    tree = tmp_path / "tree"
    tree.mkdir()
    shutil.copytree(ROOT / "python", tree / "python", ignore=shutil.ignore_patterns("__pycache__"))
    for licence in ROOT.glob("LICENSE-*"):
        shutil.copy(licence, tree)
    for extra in ([], ["--force-reinstall", "--editable"]):
        command = [str(bin / "pip"), "--disable-pip-version-check", "install", "--quiet", "--no-index", *extra, str(tree / "python")]
        subprocess.run(command, env={**os.environ, "QUELL": _binary.find()}, check=True)
        code = "import quell; from quell import _binary; print(_binary.find(), quell.__file__)"
        ran = _python(code, tmp_path, str(bin / "python"), QUELL="/nonexistent", PYTHONPATH="")
        program, package = ran.stdout.split()
        assert program == str(bin / "quell"), ran.stderr
        assert package.startswith(str(tree / "python" / "src" if extra else tmp_path / "venv")), package


def _snippets(page: Path) -> list[tuple[int, str]]:
    """The Python of a page, each with its line."""
    text = page.read_text()
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text[: one.start()].count("\n") + 2, one[1]) for one in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_snippets_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    for package in ("pyarrow", "matplotlib"):
        pytest.importorskip(package)
    snippets = _snippets(page)
    assert snippets, page
    needs = {name for _, code in snippets for name in ("pandas", "polars", "dask") if f"import {name}" in code}
    for package in needs:
        pytest.importorskip(package)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    # Line numbers of errors are those of the page.
    code = "\n".join("\n" * 0 + f"exec(compile({chr(10) * (line - 1) + code!r}, {page.name!r}, 'exec'))" for line, code in snippets)
    ran = _python(code, tmp_path)
    assert ran.returncode == 0, ran.stderr


NOTEBOOKS = sorted((ROOT / "python" / "examples").glob("*.ipynb"))


def test_the_examples_are_kept_without_outputs() -> None:
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        for cell in cells:
            assert not cell.get("outputs"), path
            assert cell.get("execution_count") is None, path


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("image/svg+xml" in output["data"] or "text/html" in output["data"] for output in shown)


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    wheel = os.environ.get("QUELL_WHEEL")
    if not wheel:
        pytest.skip("QUELL_WHEEL names no wheel: make wheel")
    assert re.fullmatch(rf"quell-{re.escape(quell.__version__)}-py3-none-manylinux_2_28_[a-z0-9_]+\.whl", Path(wheel).name)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = tmp_path / "venv" / "bin" / "pip"
    subprocess.run([pip, "--disable-pip-version-check", "install", "--quiet", "--no-index", wheel], check=True)
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    code = """
        import quell
        from importlib.metadata import distribution
        from pathlib import Path
        from quell import _binary
        package = distribution("quell")
        assert package.version == quell.__version__, package.version
        assert all("extra ==" in one for one in package.requires), package.requires
        assert (Path(quell.__file__).parent / "py.typed").exists()
        result = quell.run("scenarios/dualq2015/coexistence.toml", duration="12s", packets=True, out="out")
        print(result)
        print(_binary.find())
    """
    environment = {"QUELL": "/nonexistent", "PYTHONPATH": ""}
    ran = _python(textwrap.dedent(code), tmp_path, str(tmp_path / "venv" / "bin" / "python"), **environment)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == str(tmp_path / "venv" / "bin" / "quell")
