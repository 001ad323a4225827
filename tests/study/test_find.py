"""Which folders a pytest command means when it says ``evals``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_trials.study.find import find, is_study


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with studies where they belong and where they do not."""
    for place in ("evals/one", "evals/two", "fixtures/old", ".cache/x", "evals/one/inner"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "study.toml").write_text("")
    (tmp_path / "evals/two/study.toml").rename(tmp_path / "evals/two/study.json")
    (tmp_path / "evals/one/test_one.py").write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_finds_toml_and_json_below_a_folder_and_nothing_inside_a_study(project: Path) -> None:
    assert project.is_dir()
    assert find([Path("evals")]) == (Path("evals/one"), Path("evals/two"))


def test_skips_the_folders_that_pytest_does_not_enter(project: Path) -> None:
    assert find([project]) == (project / "evals/one", project / "evals/two")
    assert find([project], skip=(".*",))[-1] == project / "fixtures/old"


def test_a_folder_named_by_the_command_is_searched_whatever_its_name(project: Path) -> None:
    assert find([project / "fixtures"]) == (project / "fixtures/old",)
    assert find([project / "fixtures/old"]) == (project / "fixtures/old",)


def test_a_file_stands_for_its_folder(project: Path) -> None:
    assert find([project / "evals/one/test_one.py"]) == (project / "evals/one",)
    assert find([project / "tests/test_x.py"]) == ()


def test_another_test_file_beside_a_study_does_not_stand_for_it(project: Path) -> None:
    """No attempt would be found in it, and a run would be opened for nothing."""
    (project / "evals/one/test_helpers.py").write_text("")

    assert find([project / "evals/one/test_helpers.py"]) == ()


def test_names_each_study_once(project: Path) -> None:
    found = find([Path("evals/one"), Path("evals"), project / "evals/one/test_one.py"])

    assert found == (Path("evals/one"), Path("evals/two"))


def test_enters_neither_links_nor_virtual_environments(project: Path) -> None:
    """A link back up would never end, and an environment may hold any package's studies."""
    (project / "evals/up").symlink_to(project)
    (project / "env/lib/study").mkdir(parents=True)
    (project / "env/lib/study/study.toml").write_text("")
    (project / "env/pyvenv.cfg").write_text("")

    assert find([project]) == (project / "evals/one", project / "evals/two")


def test_what_is_not_there_holds_no_study(tmp_path: Path) -> None:
    assert find([tmp_path / "nowhere"]) == ()
    assert not is_study(tmp_path)


def test_a_folder_named_like_a_manifest_is_none(tmp_path: Path) -> None:
    (tmp_path / "x/study.toml").mkdir(parents=True)

    assert find([tmp_path]) == ()


def test_looking_for_studies_costs_an_ordinary_pytest_run_no_imports() -> None:
    """The plugin is loaded by every pytest run of its user."""
    code = "import sys, agent_trials.study.find as _; print('pydantic' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout == "False\n"
