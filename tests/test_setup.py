"""The ways in: the Makefile and .ci/run, driven with a Python that records what it was asked."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_trials.agents.codex_options import VERSION as CODEX

ROOT = Path(__file__).parent.parent
PINNED = tomllib.loads((ROOT / "evals/quickstart/study.toml").read_text("utf-8"))["transports"][
    "cli"
]["version"]

PINS_CODEX = "harness/agent_trials/agents/codex_options.py"

# What the scripts may use beside Python, git, Node and make: the tools of a bare POSIX system.
TOOLS = (
    "awk", "basename", "bash", "cat", "cp", "dirname", "env", "grep", "mkdir", "rm", "sh", "tee",
    "touch", "tr",
)  # fmt: skip

# Stands for every Python: the one on PATH, and the one of each environment that it makes.
FAKE_PYTHON = f"""#!/bin/sh
case "$*" in
--version) echo "Python 3.12.0" ;;
*pip.__version__*) exit "${{FAKE_PIP_IS_OLD:-0}}" ;;
*tomllib*) exec '{sys.executable}' "$@" ;;
-c*) exit 0 ;;
*)
    echo "python $*" >> "$FAKE_RECORD"
    for last; do :; done
    case "$*" in
    "-m venv "*)
        mkdir -p "$last/bin"
        cp "$0" "$last/bin/python"
        printf '#!/bin/sh\\necho "lint-imports" >> "$FAKE_RECORD"\\n' > "$last/bin/lint-imports"
        chmod +x "$last/bin/lint-imports" ;;
    "-m pytest"*)
        echo "temporary files: ${{TMPDIR:-unset}}; CI: ${{CI:-unset}}"
        echo "===== 3 passed, 1 skipped in 0.12s ====="
        case "$*" in *"${{FAKE_FAILS_ON:-nothing at all}}"*) exit 1 ;; esac ;;
    esac ;;
esac
"""

FAKE_NPM = f"""#!/bin/sh
echo "npm $*" >> "$FAKE_RECORD"
case "$*" in
*codex*) program=codex folder=codex-{CODEX} says="codex-cli {CODEX}" ;;
*) program=claude folder=claude-{PINNED} says="{PINNED} (Claude Code)" ;;
esac
bin=.tools/$folder/node_modules/.bin
mkdir -p $bin
printf '#!/bin/sh\\necho "%s"\\n' "$says" > $bin/$program
chmod +x $bin/$program
"""


@dataclass
class Desk:
    """A copy of the project's entry points on a machine that has hardly anything."""

    folder: Path
    path: Path
    record: Path

    def put(self, name: str, script: str) -> None:
        """Put a program on the machine's PATH."""
        program = self.path / name
        program.write_text(script, "utf-8")
        program.chmod(0o755)

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command there, with stdout and stderr together."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env={"PATH": str(self.path), "FAKE_RECORD": str(self.record), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def recorded(self) -> list[str]:
        """Return what was run so far, in order, and forget it."""
        if not self.record.exists():
            return []
        lines = self.record.read_text("utf-8").splitlines()
        self.record.unlink()
        return lines


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder, path = tmp_path / "the project", tmp_path / "bin"
    path.mkdir()
    studies = (f"evals/{name}/study.toml" for name in ("quickstart", "agent_task"))
    for name in ("Makefile", "pyproject.toml", *studies, PINS_CODEX):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    for name in [*TOOLS, "chmod", "make"]:
        found = shutil.which(name)
        assert found, f"{name} is needed to run the tests"
        (path / name).symlink_to(found)
    desk = Desk(folder, path, tmp_path / "record")
    desk.put("python3", FAKE_PYTHON)
    return desk


PIP = "python -m pip install --quiet"
PILOT = "python -m pytest evals -m pilot"
CLI_PILOT = "python -m pytest evals/quickstart -m pilot --transport cli"
CLAUDE = "#!/bin/sh\necho '{} (Claude Code)'\n"


def test_make_pilot_sets_everything_up_from_python_alone(desk: Desk) -> None:
    """The README promises it: one command on a fresh machine."""
    ran = desk.run("make", "pilot")

    assert ran.returncode == 0, ran.stdout
    assert desk.recorded() == ["python -m venv .venv", f"{PIP} --editable .", PILOT]


def test_make_test_sets_everything_up_and_passes_arguments_on(desk: Desk) -> None:
    ran = desk.run("make", "test", "ARGS=-k ledger")

    assert ran.returncode == 0, ran.stdout
    assert desk.recorded() == [
        "python -m venv .venv",
        f"{PIP} --editable .",
        f"{PIP} --group test --group lint",
        "python -m pytest -n auto -k ledger",
    ]


def test_set_up_is_not_repeated(desk: Desk) -> None:
    desk.run("make", "pilot")
    desk.recorded()
    desk.run("make", "pilot")

    assert desk.recorded() == [PILOT]


def test_a_changed_pyproject_refreshes_the_environment(desk: Desk) -> None:
    """A new dependency must be there before the tests that need it."""
    desk.run("make", "test")
    desk.recorded()
    later = (desk.folder / ".venv/.ready-to-develop").stat().st_mtime + 10
    os.utime(desk.folder / "pyproject.toml", (later, later))
    desk.run("make", "test")

    assert desk.recorded()[:2] == [f"{PIP} --editable .", f"{PIP} --group test --group lint"]


def test_a_copied_project_does_not_run_the_code_of_the_first(desk: Desk) -> None:
    """The editable install in a copied .venv points to where it was copied from."""
    desk.run("make", "pilot")
    desk.recorded()
    desk.folder = shutil.copytree(desk.folder, desk.folder.parent / "copy")
    desk.run("make", "pilot")

    assert "python -m venv .venv" in desk.recorded()


def test_an_environment_whose_python_is_gone_is_made_anew(desk: Desk) -> None:
    """Package managers remove the Python that an environment links to."""
    desk.run("make", "pilot")
    desk.recorded()
    (desk.folder / ".venv/bin/python").unlink()
    desk.run("make", "pilot")

    assert "python -m venv .venv" in desk.recorded()


def test_an_old_pip_is_renewed_inside_the_environment(desk: Desk) -> None:
    """Dependency groups came with pip 25.1; the user's own pip is left alone."""
    desk.run("make", "pilot", FAKE_PIP_IS_OLD="1")

    assert desk.recorded()[:3] == [
        "python -m venv .venv",
        f"{PIP} --upgrade pip>=25.1",
        f"{PIP} --editable .",
    ]


def test_a_python_that_does_is_found_behind_one_that_does_not(desk: Desk) -> None:
    desk.put("python3", "#!/bin/sh\nexit 1\n")
    desk.put("python3.12", FAKE_PYTHON)
    ran = desk.run("make", "pilot")

    assert ran.returncode == 0, ran.stdout
    assert desk.recorded()[-1] == PILOT


def test_without_a_suitable_python_one_sentence_says_so_and_nothing_is_written(desk: Desk) -> None:
    desk.put("python3", "#!/bin/sh\nexit 1\n")
    before = sorted(desk.folder.rglob("*"))
    ran = desk.run("make", "pilot")

    assert ran.returncode != 0
    assert "No Python 3.11 or newer with venv was found" in ran.stdout
    assert "Making .venv" not in ran.stdout
    assert sorted(desk.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (None, "there is no claude on PATH"),
        (CLAUDE.format("2.1.300"), "claude on PATH reports 2.1.300"),
        (CLAUDE.format(f"{PINNED}0"), f"claude on PATH reports {PINNED}0"),
        ("#!/bin/sh\nexit 3\n", "claude on PATH reports no version"),
    ],
    ids=["absent", "other", "longer", "broken"],
)
def test_pilot_says_why_it_did_not_go_through_claude(
    desk: Desk, script: str | None, why: str
) -> None:
    """Another version would measure another agent; silence would look like a pass."""
    if script:
        desk.put("claude", script)
    ran = desk.run("make", "pilot")

    assert ran.returncode == 0, ran.stdout
    assert f"did not run: {why}, and the study is pinned to {PINNED}." in ran.stdout
    assert CLI_PILOT not in desk.recorded()


def test_pilot_goes_through_the_pinned_claude_as_well(desk: Desk) -> None:
    desk.put("claude", CLAUDE.format(PINNED))
    desk.run("make", "pilot")

    assert desk.recorded()[-2:] == [PILOT, CLI_PILOT]


@pytest.mark.parametrize("failing", ["evals -m pilot", "--transport cli"])
def test_a_failed_pilot_fails_make(desk: Desk, failing: str) -> None:
    desk.put("claude", CLAUDE.format(PINNED))
    ran = desk.run("make", "pilot", FAKE_FAILS_ON=failing)

    assert ran.returncode != 0
    assert desk.recorded()[-1].endswith(failing)


ELSEWHERE = (
    "--ignore=tests/real_cli --ignore=tests/real_codex --ignore=tests/real_swebench"
    " --ignore=tests/browser --ignore=tests/acceptance --ignore=tests/evals"
)
CORE = [
    "python -m venv .venv",
    f"{PIP} --editable .",
    PILOT,
    f"{PIP} --group test --group lint",
    "python -m ruff check .",
    "python -m ruff format --check .",
    "python -m mypy",
    "lint-imports",
    f"python -m pytest -n auto {ELSEWHERE}",
]


def test_the_gate_runs_the_readme_s_commands_and_every_check(desk: Desk) -> None:
    """The pilot comes before the test tools are there: a newcomer does not have them."""
    ran = desk.run(".ci/run", "core")

    assert ran.returncode == 0, ran.stdout
    assert [line for line in desk.recorded() if line] == CORE


def test_the_gate_ends_with_what_pytest_said_last(desk: Desk) -> None:
    ran = desk.run(".ci/run", "core")

    assert ran.stdout.splitlines()[-1] == "===== 3 passed, 1 skipped in 0.12s ====="


# One more case for the recording Python: it fails when asked for this.
FAILING = """    *"${FAKE_FAILS_ON:-nothing at all}"*) exit 1 ;;
"""


@pytest.mark.parametrize("failing", ["-m ruff check", "-m mypy", "-m pytest", "evals -m pilot"])
def test_a_failed_step_fails_the_gate_and_the_later_steps_still_run(
    desk: Desk, failing: str
) -> None:
    """Whoever broke two things should hear of both."""
    desk.put("python3", FAKE_PYTHON.replace("    esac ;;\nesac", f"{FAILING}    esac ;;\nesac"))
    ran = desk.run(".ci/run", FAKE_FAILS_ON=failing)
    recorded = desk.recorded()

    assert ran.returncode == 1
    assert "FAILED" in ran.stdout
    assert recorded[-1] == CORE[-1]
    assert "the further parts were not run" in ran.stdout


def test_the_gate_runs_every_part_after_the_core(desk: Desk) -> None:
    desk.put("npm", FAKE_NPM)
    desk.put("chromium", "#!/bin/sh\necho Chromium 156\n")
    (desk.folder / "docs").mkdir()
    (desk.folder / "docs" / "quickstart.sh").write_text("echo the sequence ran\n", "utf-8")
    ran = desk.run(".ci/run")
    recorded = desk.recorded()

    assert ran.returncode == 0, ran.stdout
    assert recorded[: len(CORE)] == CORE
    assert (
        f"npm install --no-save --no-fund --no-audit --prefix .tools/claude-{PINNED}"
        f" @anthropic-ai/claude-code@{PINNED}"
    ) in recorded
    assert {"python -m pytest -n auto --dist loadfile tests/real_cli", CLI_PILOT} <= set(recorded)
    assert (
        f"npm install --no-save --no-fund --no-audit --prefix .tools/codex-{CODEX}"
        f" @openai/codex@{CODEX}"
    ) in recorded
    assert "python -m pytest -n auto --dist loadfile tests/real_codex" in recorded
    assert "the sequence ran" in ran.stdout
    assert "python -m pytest tests/browser" in recorded
    assert "python -m pytest -n auto tests/acceptance tests/evals" in recorded
    assert "python -m pytest tests/real_swebench" in recorded
    assert "python benchmarks/collection.py 7" in recorded
    assert any("--cov=agent_trials" in line for line in recorded)


@pytest.mark.parametrize("part", ["claude", "codex"])
def test_a_part_that_cannot_have_what_it_needs_fails(desk: Desk, part: str) -> None:
    """A skip would let a change through that broke the real CLI."""
    ran = desk.run(".ci/run", part)

    assert ran.returncode == 1
    assert "npm is missing: install Node.js" in ran.stdout
    assert "python -m pytest tests/real" not in "\n".join(desk.recorded())


@pytest.mark.parametrize("part", ["claude", "codex"])
def test_an_install_that_fails_fails_its_part(desk: Desk, part: str) -> None:
    desk.put("npm", "#!/bin/sh\necho 'npm: no answer' >&2\nexit 1\n")
    ran = desk.run(".ci/run", part)

    assert ran.returncode == 1
    assert "python -m pytest tests/real" not in "\n".join(desk.recorded())


def test_an_unknown_part_is_refused_with_the_names_of_the_known_ones(desk: Desk) -> None:
    ran = desk.run(".ci/run", "clade")
    known = " ".join(sorted(part.stem for part in (ROOT / ".ci" / "parts").iterdir()))

    assert ran.returncode == 2
    assert f"There is no part clade; the parts are: core {known}" in ran.stdout


@pytest.mark.parametrize("place", ["/nowhere/at/all", "a file", "the project/inside"])
def test_a_tmpdir_that_would_fail_every_test_is_not_used(desk: Desk, place: str) -> None:
    """It does not exist, is no folder, or lies in a checkout, where every ledger is refused."""
    temporary = desk.folder.parent / place
    if place == "a file":
        temporary.touch()
    elif "inside" in place:
        temporary.mkdir()
    ran = desk.run(".ci/run", "core", TMPDIR=str(temporary))

    assert ran.returncode == 0, ran.stdout
    assert "TMPDIR is no folder outside the project that can be written to" in ran.stdout
    assert "temporary files: unset" in ran.stdout


def test_an_unusual_tmpdir_is_used_by_its_real_name(desk: Desk) -> None:
    real = desk.folder.parent / "with a space"
    real.mkdir()
    (desk.folder.parent / "link").symlink_to(real)
    ran = desk.run(".ci/run", "core", TMPDIR=f"{desk.folder.parent}/link/")

    assert f"temporary files: {real.resolve()}" in ran.stdout


def test_the_gate_makes_tests_fail_where_a_desk_would_skip(desk: Desk) -> None:
    assert "CI: true" in desk.run(".ci/run", "core").stdout


@pytest.mark.parametrize(
    "name", ["run", *(f"parts/{name}.sh" for name in ("claude", "codex", "company"))]
)
def test_scripts_can_be_started_and_stop_at_the_first_error(name: str) -> None:
    script = ROOT / ".ci" / name

    assert script.stat().st_mode & stat.S_IXUSR
    assert "\nset -euo pipefail\n" in script.read_text("utf-8")


def test_make_help_names_the_two_commands_of_the_readme(desk: Desk) -> None:
    shown = desk.run("make").stdout

    assert "make pilot" in shown
    assert "make test" in shown
