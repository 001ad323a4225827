"""Arms differ in model or transport only where the study says that this is what it compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_trials.errors import StudyError
from agent_trials.study import design, manifest

if TYPE_CHECKING:
    from pathlib import Path

FIRST = """
[[models]]
id = "low-cost"
model = "claude-haiku-5-5"
"""
MODELS = f"""{FIRST}
[[models]]
id = "reference"
model = "claude-large"
"""
ARM_A = 'id = "repository-only"'
ARM_B = 'id = "docs-mcp"'
MODEL = 'model = "claude-haiku-5-5"'
ABOUT = 'question = "Where do the settings stand?"'


def changed(folder: Path, *changes: tuple[str, str], extra: str = "") -> Path:
    """Change the valid study, each old text once; the extra tables go before the tasks."""
    file = folder / "study.toml"
    text = file.read_text("utf-8")
    for old, new in (*changes, ("[[tasks]]", f"{extra}\n[[tasks]]")):
        assert old in text
        text = text.replace(old, new, 1)
    file.write_text(text, "utf-8")
    return folder


def said(folder: Path) -> list[str]:
    with pytest.raises(StudyError) as raised:
        manifest.load(folder)
    return [str(each).removeprefix(f"{folder}/study.toml: ") for each in raised.value.problems]


COMPARES = (MODEL, f'{MODEL}\ncompares = ["model"]')
A_OWN = (ARM_A, f'{ARM_A}\nmodel = "claude-haiku-5-5"')
B_OWN = (ARM_B, f'{ARM_B}\nmodel = "claude-large"')


def test_a_declared_comparison_of_models_is_a_study(folder: Path) -> None:
    study = manifest.load(changed(folder, COMPARES, A_OWN, B_OWN))

    assert [arm.model for arm in study.manifest.arms] == ["claude-haiku-5-5", "claude-large"]


def test_a_declared_comparison_of_transports_is_a_study(folder: Path) -> None:
    compares = (MODEL, f'{MODEL}\ncompares = ["transport"]')
    arms = [(arm, f'{arm}\ntransport = "{to}"') for arm, to in ((ARM_A, "http"), (ARM_B, "cli"))]

    assert manifest.load(changed(folder, compares, *arms)).manifest.agent.compares == ("transport",)


REFUSED = {
    "a model without a word": (
        [B_OWN],
        "arms.docs-mcp.model: the arm has a model of its own, so model and arm are confounded",
    ),
    "a transport without a word": (
        [(ARM_B, f'{ARM_B}\ntransport = "cli"')],
        "arms.docs-mcp.transport: the arm has a transport of its own, so transport and arm",
    ),
    "rates without a word": (
        [(ARM_B, f'{ARM_B}\ninput_usd_per_million = "1"')],
        "arms.docs-mcp.input_usd_per_million: the arm has rates of its own",
    ),
    "another thing than what is declared": (
        [(MODEL, f'{MODEL}\ncompares = ["transport"]'), B_OWN],
        "arms.docs-mcp.model: the arm has a model of its own",
    ),
    "an arm that names none": (
        [COMPARES, A_OWN],
        "arms.docs-mcp: the study compares the model, and this arm names none",
    ),
    "a model behind a variable": (
        [(ARM_B, f'{ARM_B}\nenvironment = {{ ANTHROPIC_MODEL = "claude-large" }}')],
        "arms.docs-mcp.environment.ANTHROPIC_MODEL: it may choose a model for this arm alone",
    ),
    "another API behind a variable": (
        [(ARM_B, f'{ARM_B}\nenvironment = {{ ANTHROPIC_BASE_URL = "http://other" }}')],
        "arms.docs-mcp.environment.ANTHROPIC_BASE_URL: it may choose a model",
    ),
    "a model in a follow-up": (
        [(ARM_B, f'{ARM_B}\nfollow_up = {{ environment = {{ ANTHROPIC_MODEL = "x" }} }}')],
        "arms.docs-mcp.follow_up.environment.ANTHROPIC_MODEL: it may choose a model",
    ),
    "all the same": (
        [COMPARES, A_OWN, (ARM_B, f'{ARM_B}\nmodel = "claude-haiku-5-5"')],
        "agent.compares: the study compares the model, and every arm has claude-haiku-5-5",
    ),
    "a default that is no arm's": (
        [(MODEL, 'model = "claude-other"\ncompares = ["model"]'), A_OWN, B_OWN],
        "agent.model: no arm has the model 'claude-other'",
    ),
    "a transport without a table": (
        [
            (MODEL, f'{MODEL}\ncompares = ["transport"]'),
            (ARM_A, f'{ARM_A}\ntransport = "http"'),
            (ARM_B, f'{ARM_B}\ntransport = "provider"'),
        ],
        "arms.docs-mcp.transport: the study has no table [transports.provider]",
    ),
    "rates that nobody reads": (
        [
            (MODEL, f'{MODEL}\ncompares = ["transport"]'),
            (ARM_A, f'{ARM_A}\ntransport = "http"'),
            (ARM_B, f'{ARM_B}\ntransport = "cli"\ninput_usd_per_million = "1"'),
        ],
        "arms.docs-mcp.input_usd_per_million: no attempt over cli reads it",
    ),
}


@pytest.mark.parametrize(("changes", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_refuses(folder: Path, changes: list[tuple[str, str]], says: str) -> None:
    found = said(changed(folder, *changes))

    assert any(each.startswith(says) for each in found), found


def test_a_product_may_have_a_model_of_its_own(folder: Path) -> None:
    """It is part of what is studied, and none of the agent's."""
    own = (ARM_B, f'{ARM_B}\nenvironment = {{ REVIEW_MODEL = "x" }}')

    assert manifest.load(changed(folder, own)).manifest.arms[1].environment


def test_arms_that_only_claude_code_tells_apart_are_no_study_over_http(folder: Path) -> None:
    """Over http their launchers, variables and arguments come to nothing, and nothing differs."""
    third = (ARM_B, f'id = "rules"\narguments = ["--append-system-prompt", "x"]\n[[arms]]\n{ARM_B}')
    with pytest.raises(StudyError) as caught:
        manifest.load(changed(folder, third))

    assert "arms.rules: over http the arm is the same as 'repository-only'" in str(caught.value)


def test_several_models_are_a_study(folder: Path) -> None:
    study = manifest.load(changed(folder, extra=MODELS))

    assert [each.id for each in study.manifest.models] == ["low-cost", "reference"]


OF_MODELS = {
    "one model": (
        MODELS.split('[[models]]\nid = "reference"', maxsplit=1)[0],
        "models: one model is what",
    ),
    "a model twice": (
        MODELS.replace("claude-large", "claude-haiku-5-5"),
        "models.reference.model: 'claude-haiku-5-5' stands twice",
    ),
    "another first one": (
        MODELS.replace("claude-haiku-5-5", "claude-other"),
        "agent.model: 'claude-haiku-5-5' is not the first of [[models]]",
    ),
    "tiers that do not begin at 0": (
        MODELS + '[[models.prices]]\nabove_prompt_tokens = 5\ninput = "1"\noutput = "1"\n'
        'cache_read = "1"\ncache_write_5m = "1"\ncache_write_1h = "1"\n',
        "models.reference.prices[0].above_prompt_tokens: the first tier begins at 5",
    ),
}


@pytest.mark.parametrize(("tables", "says"), OF_MODELS.values(), ids=OF_MODELS.keys())
def test_refuses_of_models(folder: Path, tables: str, says: str) -> None:
    found = said(changed(folder, extra=tables))

    assert any(each.startswith(says) for each in found), found


def test_models_in_every_arm_and_arms_of_one_model_are_two_questions(folder: Path) -> None:
    found = said(changed(folder, COMPARES, A_OWN, B_OWN, extra=MODELS))

    assert any("an arm has one model, and [[models]] has several" in each for each in found)


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ("[]", "phases.full.models: the phase asks no model"),
        ('["low-cst"]', "phases.full.models[0]: 'low-cst' is no model of the study; did you mean"),
        ('["low-cost", "low-cost"]', "phases.full.models[1]: 'low-cost' stands twice"),
    ],
)
def test_a_phase_asks_models_that_are_there(folder: Path, models: str, says: str) -> None:
    change = ("[phases.full]", f"[phases.full]\nmodels = {models}")
    found = said(changed(folder, change, extra=MODELS))

    assert any(each.startswith(says) for each in found), found


@pytest.mark.parametrize(
    ("variants", "says"),
    [
        ('{ a = "Where?" }', "tasks.settings-file.variants: one variant is no choice"),
        ('{ a = "Where?", b = "Where?" }', "tasks.settings-file.variants.b: it is the same as"),
        (
            '{ a = "Where?", b = "-p" }',
            "tasks.settings-file.variants.b: the prompt begins with '-'",
        ),
        (
            '{ a = "Where?", b = "Is it so that a file named handbook.toml holds the settings?" }',
            "tasks.settings-file.variants.b: the prompt holds",
        ),
    ],
)
def test_wordings_are_several_and_may_be_asked(folder: Path, variants: str, says: str) -> None:
    found = said(changed(folder, (ABOUT, f"{ABOUT}\nvariants = {variants}")))

    assert any(each.startswith(says) for each in found), found


def doubts(folder: Path) -> str:
    return "\n".join(str(each) for each in design.doubts(manifest.load(folder).manifest))


def test_doubts_arms_that_differ_in_more_than_what_is_compared(folder: Path) -> None:
    text = doubts(changed(folder, COMPARES, A_OWN, B_OWN))

    assert "arms differ in model and in their servers: the two are confounded" in text


def test_doubts_a_comparison_of_two_things_at_once(folder: Path) -> None:
    both = (MODEL, f'{MODEL}\ncompares = ["model", "transport"]')
    arms = [
        (ARM_A, f'{ARM_A}\nmodel = "claude-haiku-5-5"\ntransport = "http"'),
        (ARM_B, f'{ARM_B}\nmodel = "claude-large"\ntransport = "cli"'),
    ]

    assert "arms differ in model and transport at once" in doubts(changed(folder, both, *arms))


def test_doubts_several_models_at_one_price(folder: Path) -> None:
    assert "several models stand at the same prices" in doubts(changed(folder, extra=MODELS))
    priced = MODELS.replace('"claude-large"', '"claude-large"\ninput_usd_per_million = "3"')
    file = folder / "study.toml"
    file.write_text(file.read_text("utf-8").replace(MODELS, priced), "utf-8")

    assert "several models stand at the same prices" not in doubts(folder)
