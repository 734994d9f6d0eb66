# Sourced by the benchmark scripts: starts and stops servers on free ports of the loopback, each
# on a fresh directory. Sets PEER_PORT and PEER_PID.

bench_dir=$(mktemp -d "${TMPDIR:-/tmp}/dueq-bench.XXXXXX")
PEER_PID=

peer_stop() {
    if [ -n "$PEER_PID" ]; then
        kill "$PEER_PID" 2>/dev/null
        wait "$PEER_PID" 2>/dev/null
        PEER_PID=
    fi
}
trap 'peer_stop; rm -rf "$bench_dir"' EXIT
trap 'exit 130' INT TERM

peer_port() { # the first port from $1 on that nobody listens on
    port=$1
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
    echo "$port"
}

peer_answers() { # NAME: it is there, and not loading
    case $1 in
    beanstalkd) (exec 3<>"/dev/tcp/127.0.0.1/$PEER_PORT") 2>/dev/null ;;
    *) [ "$(redis-cli -p "$PEER_PORT" ping 2>/dev/null)" = PONG ] ;;
    esac
}

peer_wait() { # NAME
    for _ in $(seq 600); do
        peer_answers "$1" && return 0
        sleep 0.02
    done
    echo "bench: $1 did not start" >&2
    exit 1
}

# peer_start NAME DIR [EXTRA ARGUMENTS]: dueq, redis (appendfsync always), beanstalkd (-f 0).
peer_start() {
    local name=$1 dir=$2
    shift 2
    mkdir -p "$dir"
    PEER_PORT=$(peer_port $((20000 + RANDOM % 10000)))
    case $name in
    dueq) "$DUEQ" server --port "$PEER_PORT" --dir "$dir" --logfile "$dir/log" "$@" & ;;
    redis) redis-server --port "$PEER_PORT" --dir "$dir" --save '' --appendonly yes \
        --appendfsync always --logfile "$dir/log" "$@" & ;;
    beanstalkd) beanstalkd -l 127.0.0.1 -p "$PEER_PORT" -b "$dir" -f 0 "$@" & ;;
    esac
    PEER_PID=$!
    peer_wait "$name"
}

# peer_spends COUNT COMMAND...: usec of processor time of the server's loop, commits included, for each of COUNT jobs
peer_spends() {
    local count=$1 before
    shift
    before=$(peer_used)
    "$@" >/dev/null
    awk -v a="$before" -v b="$(peer_used)" -v n="$count" 'BEGIN { printf "%.2f\n", (b - a) / n / 1000 }'
}
peer_used() { cut -d' ' -f1 "/proc/$PEER_PID/task/$PEER_PID/schedstat"; } # ns

# load TARGET ARGUMENTS...: one run of the load generator; prints its line.
load() {
    local target=$1 work=$2
    shift 2
    "$DUEQ" bench "$work" --target "$target" --port "$PEER_PORT" "$@"
}

# The same, and behind its line what a job took of the processors, usec: client=, server= (all its threads).
load_and_spend() {
    local target=$1 work=$2 line before after TIMEFORMAT='%U %S'
    shift 2
    before=$(peer_used_by_all)
    { time line=$("$DUEQ" bench "$work" --target "$target" --port "$PEER_PORT" "$@" 2>&3); } 3>&2 2>"$bench_dir/time" || return 1
    after=$(peer_used_by_all)
    printf '%s ' "$line"
    awk -v used=$((after - before)) -v jobs="$(field jobs <<<"$line")" \
        '{ printf "client=%.2f server=%.2f \n", ($1 + $2) * 1e6 / jobs, used / jobs / 1000 }' "$bench_dir/time"
}
peer_used_by_all() { cat "/proc/$PEER_PID"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'; }

field() { # field NAME: that value of each line read
    sed -n "s/.*[ ^]$1=\([^ ]*\).*/\1/p"
}

median() {
    sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'
}
