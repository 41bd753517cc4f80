#!/usr/bin/env bash
# The end of a sweep that ran in parts: joins their stores, runs what a lost part left, checks every cell, writes the table STORE.csv.
#
#   ./finish.sh FILE STORE           all parts wrote into STORE
#   ./finish.sh FILE STORE PART...   each part has a store of its own
#
# Exit code 0 means that the table is complete; 1 that cells failed or are damaged: the messages name them, and the table has the others.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: finish.sh FILE STORE [PART...]" >&2; exit 2; }
file=$1 store=$2
shift 2

status=0
[ $# = 0 ] || quell sweep merge "$store" "$@" || status=$?
quell sweep "$file" --store "$store" --jobs 1 || status=$?
quell sweep check "$store" || status=$?
quell sweep table "$store" --out "$store.csv" || status=$?
exit "$status"
