#!/bin/sh
# From a pilot to a record that a stranger can verify: the quickstart, in rehearsal and so at no cost.
# A paid run takes the same steps; --approve-budget, a cap, checkouts and a key come with it (README.md).
#
#   sh docs/quickstart.sh [FOLDER]      FOLDER is new, and outside of every checkout
set -eu
into="${1:-$(mktemp -d)/quickstart}"
mkdir -m 700 "$into"

pytest evals/quickstart -m pilot --ledger "$into/pilot.jsonl"
pytest evals/quickstart -m full --ledger "$into/full.jsonl" --prior-ledger "$into/pilot.jsonl"
pytest evals/quickstart -m adjudicate --ledger "$into/full.jsonl"

# The head of the closed ledger is what one publishes, at once.
head=$(agent-trials show "$into/full.jsonl" | awk '$1 == "head" { print $2 }')
agent-trials report "$into/full.jsonl" --into "$into/report"
# With blindId opened a stranger can join grades and attempts, and so recompute correctness too.
agent-trials bundle "$into/full.jsonl" --into "$into/bundle" --report "$into/report" --open blindId

# A stranger has the bundle, the published head and a Python; nothing of ours is installed for this.
python3 "$into/bundle/verify.py" --head "$head"
agent-trials verify "$into/full.jsonl" --head "$head"
