"""What the tests alone need; a rehearsal runs without the tools that they use."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# A slow machine is no finding. In CI hypothesis takes its own profile: no deadline, no chance.
if "CI" not in os.environ:
    settings.register_profile("desk", deadline=None)
    settings.load_profile("desk")

# A shell starts what it puts in the background with SIGINT ignored; children inherit that. Tests
# that interrupt a program would then wait for what never comes.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
