<?php
// What the rounds of the PHP clients share: running checks, waiting, processes that block.

declare(strict_types=1);

define('PORT', (int) getenv('PORT'));
define('LOCKED_PORT', (int) getenv('LOCKED_PORT'));
define('PASSWORD', getenv('PASSWORD'));
define('BINARY', implode('', array_map('chr', range(0, 255))));

function expect(mixed $wanted, mixed $got): void
{
    if ($wanted !== $got) {
        throw new Exception(sprintf('wanted %s, got %s', json_encode($wanted), json_encode($got)));
    }
}

function expect_members(array $wanted, array $got): void
{
    sort($wanted);
    $got = array_unique($got);
    sort($got);
    expect($wanted, $got);
}

function refused(callable $connect): bool
{
    try {
        $connect();
    } catch (Exception $refusal) {
        return true;
    }
    return false;
}

function wait_for(callable $condition): void
{
    for ($i = 0; $i < 1000; $i++) {
        if ($condition()) {
            return;
        }
        usleep(10000);
    }
    throw new Exception('waited for nothing');
}

/** Runs a function in a process of its own, with connections of its own. */
function in_process(callable $run): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        $run();
        posix_kill(getmypid(), SIGKILL); // without the destructors of what the parent still uses
    }
    return $pid;
}

function end_process(int $pid): void
{
    posix_kill($pid, SIGKILL);
    pcntl_waitpid($pid, $status);
}

/** Pushes a job, from another process, when a client waits. */
function push_to_waiter(string $id): int
{
    return in_process(function () use ($id) {
        $client = connect();
        wait_for(fn () => blocked_clients($client) === 1);
        raw($client, 'Q.PUSH', 'jobs', 'job', 'ID', $id);
    });
}

/** Ends the connection of a client, from another process, when the client waits. */
function kill_waiter(mixed $waiter): int
{
    $id = (string) raw($waiter, 'CLIENT', 'ID');
    return in_process(function () use ($id) {
        $client = connect();
        wait_for(fn () => blocked_clients($client) === 1);
        raw($client, 'CLIENT', 'KILL', 'ID', $id);
    });
}

/** The exception with which the call has to end, and after about how many seconds. */
function expect_end(string $error, int $seconds, callable $call): void
{
    $began = microtime(true);
    try {
        $call();
    } catch (Exception $end) {
        expect($error, get_class($end));
        expect(true, microtime(true) - $began > $seconds - 0.1 && microtime(true) - $began < $seconds + 4);
        return;
    }
    throw new Exception("it did not end with $error");
}

/** This job was claimed, that often; it is acked. */
function expect_job(mixed $client, string $name, mixed $reply, int $attempts): void
{
    [[$id, $token, $body, $times]] = $reply;
    expect([$name, 'job', $attempts], [$id, $body, $times]);
    expect(1, raw($client, 'Q.ACK', 'jobs', $id, (string) $token));
}

/** As delivered PHP waits 60 s for a reply; here it is said to wait so long. */
function with_limit(int $seconds, callable $run): void
{
    expect('60', ini_set('default_socket_timeout', (string) $seconds));
    try {
        $run();
    } finally {
        ini_set('default_socket_timeout', '60');
    }
}

/** What only dueq has. */
const OWN = ['upgrade', 'claim', 'cut', 'lease'];

function run_checks(string $version, array $checks): void
{
    echo "version $version\n";
    foreach ($checks as $name => $check) {
        if (in_array($name, OWN, true) && getenv('UPGRADE_PID') === false) {
            echo "skip $name\n";
            continue;
        }
        try {
            $check();
            echo "ok $name\n";
        } catch (Throwable $error) {
            echo "FAIL $name ", str_replace("\n", ' ', $error->getMessage()), "\n";
        }
    }
}
