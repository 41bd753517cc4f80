#!/usr/bin/env bash
# A sweep on Slurm: an array of PARTS (16) tasks of one core each, and a job after them that writes the table STORE.csv.
#
#   ./slurm.sh FILE STORE [PARTS]
#
# Called on a login node. FILE and STORE are in folders that all nodes have, and quell is in the PATH. The same command goes on where a
# sweep was stopped. Options of sbatch come from its variables, such as SBATCH_PARTITION, SBATCH_ACCOUNT and SBATCH_TIMELIMIT.
# With APART=1 each task writes a store of its own, STORE.parts/K.
#
# A minute before its time is over a task gets SIGINT, and leaves whole cells only; the job at the end runs what is missing.
#SBATCH --job-name=quell
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=01:00:00
#SBATCH --signal=B:INT@60
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: slurm.sh FILE STORE [PARTS]" >&2; exit 2; }
file=$1 store=$2 parts=${3:-16}

if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
    [ -z "${APART:-}" ] || store=$store.parts/$SLURM_ARRAY_TASK_ID
    # In place of the shell, so that it gets the signal.
    exec quell sweep "$file" --store "$store" --shard "$SLURM_ARRAY_TASK_ID/$parts" --jobs "${SLURM_CPUS_PER_TASK:-1}"
fi

command -v quell >/dev/null || { echo "slurm.sh: quell is not in the PATH" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
# A mistake in the file is found now, and not by every task.
quell sweep "$file" --store "$store" --dry-run
mkdir -p "$store.logs"
array=$(sbatch --parsable --array="1-$parts" --output="$store.logs/%A_%a.log" "$here/slurm.sh" "$file" "$store" "$parts")
array=${array%%;*}
own=()
[ -z "${APART:-}" ] || for part in $(seq "$parts"); do own+=("$store.parts/$part"); done
last=$(sbatch --parsable --job-name=quell-table --dependency="afterany:$array" --output="$store.logs/table.log" \
    "$here/finish.sh" "$file" "$store" ${own[@]+"${own[@]}"})
echo "array $array, then ${last%%;*} writes $store.csv; logs in $store.logs"
