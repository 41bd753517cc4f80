#!/usr/bin/env bash
# A sweep on HyperQueue: PARTS (64) tasks of one core each; then the table STORE.csv.
#
#   hq server start &
#   hq worker start &                                     # on each node; or: hq alloc add slurm --time-limit 1h
#   ./hyperqueue.sh FILE STORE [PARTS]                    # returns when the table is written
#
# FILE and STORE are in folders that all workers have, and quell is in the workers' PATH. HyperQueue starts a task again whose worker was
# lost, and a task is cheap: take more parts than cores, so that all cores are busy until the end. The same command goes on where a sweep
# was stopped. With APART=1 each task writes a store of its own, STORE.parts/K.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: hyperqueue.sh FILE STORE [PARTS]" >&2; exit 2; }
file=$1 store=$2 parts=${3:-64}

if [ -n "${HQ_TASK_ID:-}" ]; then
    [ -z "${APART:-}" ] || store=$store.parts/$HQ_TASK_ID
    exec quell sweep "$file" --store "$store" --shard "$HQ_TASK_ID/$parts" --jobs 1
fi

here=$(cd "$(dirname "$0")" && pwd)
quell sweep "$file" --store "$store" --dry-run
mkdir -p "$store.logs"
status=0
hq submit --wait --name quell --array "1-$parts" --cpus 1 --env "APART=${APART:-}" \
    --stdout "$store.logs/%{TASK_ID}.log" --stderr "$store.logs/%{TASK_ID}.err" \
    -- "$here/hyperqueue.sh" "$file" "$store" "$parts" || status=$?
[ "$status" = 0 ] || echo "hyperqueue.sh: hq ended with $status; $store.logs has what the tasks printed" >&2
own=()
[ -z "${APART:-}" ] || for part in $(seq "$parts"); do [ ! -d "$store.parts/$part" ] || own+=("$store.parts/$part"); done
exec "$here/finish.sh" "$file" "$store" ${own[@]+"${own[@]}"}
