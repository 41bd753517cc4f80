#!/usr/bin/env bash
# A sweep with GNU parallel, here or on machines that ssh reaches: PARTS (64) calls; then the table STORE.csv.
#
#   ./parallel.sh FILE STORE [PARTS]                                       this machine
#   HOSTS=hosts ./parallel.sh FILE STORE [PARTS]                           machines that have the folders of FILE and STORE
#   HOSTS=hosts SEND="FILE..." ./parallel.sh FILE STORE [PARTS]            machines that share no folder
#
# HOSTS is a file with a line for each machine, such as `16/user@node1` for 16 calls at a time; quell is in their PATH. SEND names what FILE
# needs besides itself (its scenario), from the current folder, which has all of it. It is copied to each machine, and each part comes back
# as one archive. A call that fails is tried once more, elsewhere if possible. The same command goes on where a sweep was stopped.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: parallel.sh FILE STORE [PARTS]" >&2; exit 2; }
file=$1 store=$2 parts=${3:-64}

here=$(cd "$(dirname "$0")" && pwd)
quell sweep "$file" --store "$store" --dry-run
options=(--joblog "$store.joblog" --retries 2 --tag)
own=() status=0
if [ -z "${HOSTS:-}" ]; then
    seq "$parts" | parallel "${options[@]}" quell sweep "$file" --store "$store" --shard "{}/$parts" --jobs 1 || status=$?
elif [ -z "${SEND:-}" ]; then
    seq "$parts" | parallel "${options[@]}" --sshloginfile "$HOSTS" --workdir "$PWD" \
        quell sweep "$file" --store "$store" --shard "{}/$parts" --jobs 1 || status=$?
else
    copied=(--transferfile "$file")
    for one in $SEND; do copied+=(--transferfile "$one"); done
    mkdir -p "$store.parts"
    seq "$parts" | parallel "${options[@]}" --sshloginfile "$HOSTS" --workdir ... "${copied[@]}" --return "quell-part-{}.tar" --cleanup \
        quell sweep "$file" --store "quell-part-{}" --shard "{}/$parts" --jobs 1 "&&" tar -cf "quell-part-{}.tar" "quell-part-{}" || status=$?
    for part in $(seq "$parts"); do
        archive=quell-part-$part.tar
        [ -e "$archive" ] || continue
        tar -xf "$archive" -C "$store.parts"
        rm "$archive"
        own+=("$store.parts/quell-part-$part")
    done
fi
[ "$status" = 0 ] || echo "parallel.sh: $status parts failed; $store.joblog names them" >&2
exec "$here/finish.sh" "$file" "$store" ${own[@]+"${own[@]}"}
