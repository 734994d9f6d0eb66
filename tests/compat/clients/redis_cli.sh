#!/bin/bash
# A round of redis-cli; ../README.md explains the checks and what runs this.
set -u

cli() { redis-cli -p "$PORT" "$@"; }
locked() { redis-cli -p "$LOCKED_PORT" --no-auth-warning "$@" 2>&1; }

expect() {
    [ "$1" = "$2" ] && return 0
    echo "wanted '$1', got '$2'" | tr '\n' ' ' >&3
    return 1
}

wait_for_blocked() { # how many, on which port
    local port=${2:-$PORT}
    for _ in $(seq 500); do
        redis-cli -p "$port" info clients | grep -q "^blocked_clients:$1" && return 0
        sleep 0.02
    done
    expect "$1 blocked" "$(redis-cli -p "$port" info clients | grep blocked)"
}

check_plain() {
    cli set plain 'a b' >/dev/null && expect PONG "$(cli ping)" && expect 'a b' "$(cli get plain)"
}

check_password() {
    expect PONG "$(locked -a "$PASSWORD" ping)" && expect 'NOAUTH Authentication required.' "$(locked ping)" &&
        [[ "$(locked -a wrong ping)" == *WRONGPASS* ]]
}

check_user() {
    expect PONG "$(locked --user default --pass "$PASSWORD" ping)" &&
        expect PONG "$(locked -u "redis://default:$PASSWORD@127.0.0.1:$LOCKED_PORT" ping)" &&
        [[ "$(locked --user nobody --pass "$PASSWORD" ping)" == *WRONGPASS* ]]
}

check_rights() {
    expect OK "$(cli acl setuser app on '>first' '~app:*' +get +set)" || return 1
    app() { cli --user app --pass first --no-auth-warning "$@" 2>&1; }
    expect OK "$(app set app:1 x)" && [[ "$(app get other)" == NOPERM* ]] && [[ "$(app del app:1)" == NOPERM* ]] &&
        expect 1 "$(cli acl deluser app)" && [[ "$(app get app:1)" == *WRONGPASS* ]]
}

check_database() {
    cli -n 5 set database five >/dev/null && expect five "$(cli -n 5 get database)" &&
        expect '' "$(cli get database)"
}

check_name() {
    expect $'OK\nworker-7' "$(printf 'CLIENT SETNAME worker-7\nCLIENT GETNAME\n' | cli)"
}

check_resp3() {
    cli hset resp3 a 1 >/dev/null && expect '1# "a" => "1"' "$(cli -3 --no-raw hgetall resp3)"
}

check_pipeline() {
    local out
    out=$(for _ in $(seq 1000); do printf '*2\r\n$4\r\nINCR\r\n$8\r\npipeline\r\n'; done | cli --pipe)
    expect 'errors: 0, replies: 1000' "$(tail -1 <<<"$out")" && expect 1000 "$(cli get pipeline)"
}

check_transaction() {
    expect $'OK\nQUEUED\nQUEUED\n1\n2.5' \
        "$(printf 'MULTI\nZADD transaction 2.5 job\nZSCORE transaction job\nEXEC\n' | cli)" || return 1
    coproc session { stdbuf -oL redis-cli -p "$PORT"; }
    local line pid=$session_PID
    echo WATCH transaction >&"${session[1]}" && read -r line <&"${session[0]}"
    cli zadd transaction 3 job >/dev/null
    printf 'MULTI\nDEL transaction\nEXEC\nPING\nQUIT\n' >&"${session[1]}"
    local rest
    rest=$(timeout 10 cat <&"${session[0]}")
    wait "$pid"
    expect $'OK\nQUEUED\n\nPONG' "$rest" && expect 3 "$(cli zscore transaction job)"
}

check_blocking() {
    expect '' "$(cli blpop blocking 0.05)" || return 1
    cli brpop blocking other 0 >"$work/taken" &
    local waiter=$!
    wait_for_blocked 1 && cli lpush blocking job >/dev/null
    wait "$waiter"
    expect $'blocking\njob' "$(cat "$work/taken")" || return 1
    redis-cli -p "$PORT" blpop blocking 0 &
    waiter=$!
    wait_for_blocked 1 && { kill "$waiter"; wait "$waiter" 2>/dev/null; }
    wait_for_blocked 0 && expect 1 "$(cli rpush blocking kept)" && expect kept "$(cli lpop blocking)"
}

check_pubsub() {
    stdbuf -oL redis-cli -p "$PORT" subscribe news >"$work/heard" &
    local listener=$! heard=1
    for _ in $(seq 500); do
        [ "$(cli publish news hello)" = 1 ] && break
        sleep 0.02
    done
    for _ in $(seq 500); do
        grep -q '^hello$' "$work/heard" && heard=0 && break
        sleep 0.02
    done
    kill "$listener"
    wait "$listener" 2>/dev/null
    return "$heard"
}

check_tls() {
    expect PONG "$(redis-cli --tls --cacert "$AUTHORITY" -p "$TLS_PORT" ping)" &&
        [[ "$(redis-cli --tls -p "$TLS_PORT" ping 2>&1)" == *'certificate verify failed'* ]]
}

check_scan() {
    local number
    for number in $(seq 0 499); do
        echo "SET scan:$number 1"
        echo "HSET scan-hash scan:$number 1"
        echo "SADD scan-set scan:$number"
        echo "ZADD scan-zset $number scan:$number"
    done | cli >/dev/null
    expect 500 "$(cli --scan --pattern 'scan:*' | sort -u | wc -l)" &&
        expect 500 "$(cli hscan scan-hash 0 COUNT 1000 | grep -c scan:)" &&
        expect 500 "$(cli sscan scan-set 0 COUNT 1000 | grep -c scan:)" &&
        expect 500 "$(cli zscan scan-zset 0 COUNT 1000 | grep -c scan:)"
}

upgraded() { redis-cli -p "$UPGRADE_PORT" "$@"; }

run_of() { upgraded info server | grep run_id; }

# A claim that waits is answered as if its time were over.
check_upgrade() {
    local pushed=0 before waiter
    until upgraded q.claim jobs block 10m >"$work/claimed" || echo job >>"$work/claimed"; grep -q job "$work/claimed"; do
        echo again >>"$work/again"
    done &
    waiter=$!
    for _ in 1 2 3; do
        before=$(run_of)
        wait_for_blocked 1 "$UPGRADE_PORT" || return 1
        kill -USR2 "$UPGRADE_PID"
        while [ "$(run_of)" = "$before" ]; do
            pushed=$((pushed + 1))
            expect "$pushed" "$(upgraded rpush upgraded x)" || return 1
        done
    done
    expect "$pushed" "$(upgraded llen upgraded)" && upgraded q.push jobs job >"$work/name"
    wait "$waiter"
    expect "$(cat "$work/name") job 1" "$(awk 'NR != 2' "$work/claimed" | xargs)" && expect 3 "$(wc -l <"$work/again")"
}

# This job, of which redis-cli printed the claim, was claimed that often; it is acked.
expect_job() { # name, attempts, file
    expect "$1 job $2" "$(awk 'NR != 2' "$3" | xargs)" && expect 1 "$(cli q.ack jobs "$1" "$(sed -n 2p "$3")")"
}

# No limit as delivered. A job arrives during a wait.
check_claim() {
    expect '' "$(cli q.claim jobs block 6s)" || return 1
    cli q.claim jobs block 60s >"$work/claimed" &
    local waiter=$! name
    wait_for_blocked 1 && name=$(cli q.push jobs job)
    wait "$waiter"
    expect_job "$name" 1 "$work/claimed"
}

# It is ended from outside; the claim has no job.
check_cut() {
    timeout 1 redis-cli -p "$PORT" q.claim jobs block 60s
    expect 124 "$?" && wait_for_blocked 0 || return 1
    local name
    name=$(cli q.push jobs job)
    cli q.claim jobs block 500ms >"$work/claimed"
    expect_job "$name" 1 "$work/claimed"
}

# A connection that ends: it ends with an error. A job that was held comes back when its lease ends.
check_lease() {
    local name token waiter
    name=$(cli q.push jobs job lease 500ms)
    token=$(cli q.claim jobs | sed -n 2p)
    redis-cli -p "$PORT" q.claim nothing block 60s 2>"$work/error" &
    waiter=$!
    wait_for_blocked 1 && cli client kill type normal >/dev/null
    wait "$waiter"
    expect 1 "$?" && expect 'Error: Server closed the connection' "$(cat "$work/error")" || return 1
    cli q.claim jobs block 60s >"$work/claimed"
    [[ "$(cli q.ack jobs "$name" "$token")" == STALE* ]] && expect_job "$name" 2 "$work/claimed"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
redis-cli --version | awk '{print "version", $2}'
for name in plain password user rights database name resp3 pipeline transaction blocking pubsub scan tls upgrade claim cut lease; do
    if [[ "$name" =~ ^(upgrade|claim|cut|lease)$ ]] && [ -z "${UPGRADE_PID:-}" ]; then
        echo "skip $name"
        continue
    fi
    if "check_$name" 3>"$work/why" 2>/dev/null; then
        echo "ok $name"
    else
        echo "FAIL $name $(cat "$work/why")"
    fi
done
