"""What the tests alone need; a rehearsal runs without the tools that they use."""

from __future__ import annotations

import os

from hypothesis import settings

# A slow machine is no finding. In CI hypothesis takes its own profile: no deadline, no chance.
if "CI" not in os.environ:
    settings.register_profile("desk", deadline=None)
    settings.load_profile("desk")
