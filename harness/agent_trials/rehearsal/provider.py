"""A provider command for rehearsals: reads the request, runs the programs it is given, answers.

    python -m agent_trials.rehearsal.provider [PROGRAM ...] < request.json

It needs neither network nor account; the answer depends on the request alone.
"""

from __future__ import annotations

import json
import subprocess
import sys


def main() -> int:
    """Answer one request; 0 where there was one."""
    request = json.load(sys.stdin)
    for program in sys.argv[1:]:
        subprocess.run([program], check=True, stdout=subprocess.DEVNULL)
    objective = str(request.get("objective", ""))
    json.dump(
        {
            "taskOutcome": "success",
            "answer": "This is a rehearsal; nobody answered. See README.md:1.",
            "inputTokens": len(objective) // 4 + 1,
            "outputTokens": 12,
            "tokenMethod": "provider",
            "toolCalls": len(sys.argv) - 1,
            "measurements": {"searchHitRate": 1},
        },
        sys.stdout,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
