"""An adjudicator command that grades in rehearsals as the scripted adjudicator does.

    python -m agent_trials.rehearsal.adjudicator < request.json

It needs neither network nor account; the verdict depends on the request alone.
"""

from __future__ import annotations

import json
import sys

from agent_trials.rehearsal import judge
from agent_trials.rehearsal.replies import tokens


def main() -> int:
    """Grade one packet; 0 where there was one."""
    request = json.load(sys.stdin)
    said = judge.reply(request["instruction"], request["packet"])
    used = {"inputTokens": tokens(request), "outputTokens": tokens(said)}
    json.dump({**said, **used, "tokenMethod": "estimate"}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
