<?php
// What the PHP queues share: workers as processes, and the count of what they did, kept in the server.

declare(strict_types=1);

define('PORT', (int) getenv('PORT'));
define('NATIVE', getenv('VARIANT') === 'q');

function now_milliseconds(): int
{
    return (int) floor(microtime(true) * 1000);
}

/** Runs $count processes of a function and waits for all; one that dies is replaced. */
function run_workers(int $count, callable $work): int
{
    $replaced = 0;
    $workers = [];
    $start = function () use (&$workers, $work) {
        $pid = pcntl_fork();
        if ($pid === 0) {
            $work();
            exit(0);
        }
        $workers[$pid] = true;
    };
    for ($i = 0; $i < $count; $i++) {
        $start();
    }
    while ($workers) {
        $pid = pcntl_wait($status);
        unset($workers[$pid]);
        if (pcntl_wifsignaled($status)) {
            $replaced++;
            $start();
        }
    }
    return $replaced;
}

function print_tally(array $counts): void
{
    foreach ($counts as $what => $count) {
        echo "$what $count\n";
    }
}
