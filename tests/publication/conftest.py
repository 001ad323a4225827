"""The bench of the tests that run whole studies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab import Lab

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A project with a corpus and a study, not frozen."""
    return Lab(tmp_path / "lab")
