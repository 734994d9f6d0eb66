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

/** What only dueq has. */
const OWN = ['upgrade', 'claim'];

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
