<?php
// A round of phpredis; see ../README.md for what the checks are and who calls this.

declare(strict_types=1);

require __DIR__ . '/round.php';

function connect(int $port = PORT, mixed $auth = null): Redis
{
    $client = new Redis();
    $client->connect('127.0.0.1', $port);
    if ($auth !== null) {
        $client->auth($auth);
    }
    $client->ping();
    return $client;
}

function blocked_clients(Redis $client): int
{
    return (int) $client->info('clients')['blocked_clients'];
}

function scanned(callable $next): array
{
    $found = [];
    $cursor = null;
    while (($batch = $next($cursor)) !== false) {
        $found = array_merge($found, $batch);
    }
    return $found;
}

function upgraded(int $port): Redis
{
    return connect($port);
}

function run_of(Redis $client): string
{
    return $client->info('server')['run_id'];
}

function raw(Redis $client, string ...$command): mixed
{
    return $client->rawCommand(...$command);
}

/** OPT_READ_TIMEOUT is how long it waits for any reply; without it default_socket_timeout of PHP, 60 s. */
function worker(float $timeout): Redis
{
    $client = connect();
    $client->setOption(Redis::OPT_READ_TIMEOUT, $timeout);
    return $client;
}

run_checks(phpversion('redis'), [
    'plain' => function () {
        $client = connect();
        $client->set('plain', BINARY);
        expect(BINARY, $client->get('plain'));
    },
    'password' => function () {
        connect(LOCKED_PORT, PASSWORD);
        expect(true, refused(fn () => connect(LOCKED_PORT)));
        expect(true, refused(fn () => connect(LOCKED_PORT, 'wrong')));
    },
    'user' => function () {
        connect(LOCKED_PORT, ['default', PASSWORD]);
        expect(true, refused(fn () => connect(LOCKED_PORT, ['nobody', PASSWORD])));
    },
    'database' => function () {
        $client = connect();
        expect(true, $client->select(5));
        $client->set('database', 'five');
        expect(false, connect()->get('database'));
        expect(false, $client->select(99));
    },
    'name' => function () {
        $client = connect();
        $client->client('setname', 'worker-7');
        expect('worker-7', $client->client('getname'));
        expect(true, in_array('worker-7', array_column($client->client('list'), 'name'), true));
    },
    'pipeline' => function () {
        $pipeline = connect()->multi(Redis::PIPELINE);
        for ($i = 0; $i < 1000; $i++) {
            $pipeline->incr('pipeline');
        }
        expect(range(1, 1000), $pipeline->exec());
    },
    'transaction' => function () {
        $client = connect();
        $done = $client->multi()->zAdd('transaction', 2.5, 'job')->zScore('transaction', 'job')->exec();
        expect([1, 2.5], $done);
        $client->watch('transaction');
        connect()->zAdd('transaction', 3, 'job');
        expect(false, $client->multi()->del('transaction')->exec());
        expect(3.0, $client->zScore('transaction', 'job'));
    },
    'blocking' => function () {
        $client = connect();
        expect([], $client->brPop(['blocking'], 1));
        $waiter = in_process(function () {
            $client = connect();
            connect()->set('taken', implode(' ', $client->brPop(['blocking', 'other'], 0)));
        });
        wait_for(fn () => blocked_clients($client) === 1);
        $client->lPush('blocking', 'job');
        wait_for(fn () => $client->get('taken') === 'blocking job');
        end_process($waiter);
        $waiter = in_process(fn () => connect()->blPop(['blocking'], 0));
        wait_for(fn () => blocked_clients($client) === 1);
        end_process($waiter);
        wait_for(fn () => blocked_clients($client) === 0);
        expect(1, $client->rPush('blocking', 'kept'));
        expect('kept', $client->lPop('blocking'));
    },
    'pubsub' => function () {
        $client = connect();
        $listener = in_process(function () {
            connect()->subscribe(['news'], function ($redis, $channel, $message) {
                connect()->set('heard', "$channel $message");
            });
        });
        wait_for(fn () => $client->publish('news', 'hello') === 1);
        wait_for(fn () => $client->get('heard') === 'news hello');
        end_process($listener);
    },
    'upgrade' => function () {
        $port = (int) getenv('UPGRADE_PORT');
        $waiter = in_process(function () use ($port) {
            $client = upgraded($port);
            while (!$client->get('upgrade-ends')) {
                expect([], $client->blpop(['nothing'], 1));
            }
            $client->set('upgrade-waited', 'yes');
        });
        $client = upgraded($port);
        $pushed = 0;
        for ($i = 0; $i < 3; $i++) {
            $before = run_of($client);
            posix_kill((int) getenv('UPGRADE_PID'), SIGUSR2);
            while (run_of($client) === $before) {
                expect(++$pushed, $client->rpush('upgraded', 'x'));
            }
        }
        $client->set('upgrade-ends', 'yes');
        wait_for(fn () => $client->get('upgrade-waited') === 'yes');
        end_process($waiter);
        expect($pushed, $client->llen('upgraded'));
    },
    // A worker has no limit, or a shorter BLOCK. A job arrives during a wait.
    'claim' => fn () => with_limit(1, function () {
        $client = connect();
        $worker = worker(-1);
        expect([], raw($worker, 'Q.CLAIM', 'jobs', 'BLOCK', '1500ms'));
        expect([], raw($client, 'Q.CLAIM', 'jobs', 'BLOCK', '500ms'));
        $pusher = push_to_waiter('a');
        expect_job($client, 'a', raw($worker, 'Q.CLAIM', 'jobs', 'BLOCK', '60s'), 1);
        pcntl_waitpid($pusher, $status);
    }),
    // It gives up, but does not close the connection: the claim stays in the server and takes a job, and its reply
    // is that of the next command. close() ends the claim; the next command connects again.
    'cut' => fn () => with_limit(1, function () {
        $hasty = connect();
        $client = worker(-1);
        expect_end('RedisException', 1, fn () => raw($hasty, 'Q.CLAIM', 'jobs', 'BLOCK', '60s'));
        expect(1, blocked_clients($client));
        $taken = raw($client, 'Q.PUSH', 'jobs', 'job', 'LEASE', '1s');
        wait_for(fn () => blocked_clients($client) === 0);
        expect($taken, raw($hasty, 'PING')[0][0]);
        $hasty->close();
        expect(true, raw($hasty, 'PING'));
        expect_job($client, $taken, raw($client, 'Q.CLAIM', 'jobs', 'BLOCK', '60s'), 2);
        expect_end('RedisException', 1, fn () => raw($hasty, 'Q.CLAIM', 'jobs', 'BLOCK', '60s'));
        $hasty->close();
        wait_for(fn () => blocked_clients($client) === 0);
        $name = raw($client, 'Q.PUSH', 'jobs', 'job');
        expect_job($client, $name, raw($hasty, 'Q.CLAIM', 'jobs', 'BLOCK', '500ms'), 1);
    }),
    // A connection that ends: the wait is an exception, the next command connects again. A job that was held comes
    // back when its lease ends.
    'lease' => function () {
        $client = connect();
        $worker = worker(-1);
        $name = raw($client, 'Q.PUSH', 'jobs', 'job', 'LEASE', '500ms');
        [[, $token]] = raw($worker, 'Q.CLAIM', 'jobs');
        $killer = kill_waiter($worker);
        expect_end('RedisException', 0, fn () => raw($worker, 'Q.CLAIM', 'nothing', 'BLOCK', '60s'));
        pcntl_waitpid($killer, $status);
        $reply = raw($worker, 'Q.CLAIM', 'jobs', 'BLOCK', '60s');
        expect(true, refused(fn () => raw($client, 'Q.ACK', 'jobs', $name, (string) $token)));
        expect_job($worker, $name, $reply, 2);
    },
    'scan' => function () {
        $client = connect();
        $keys = array_map(fn ($i) => "scan:$i", range(0, 499));
        $client->mset(array_fill_keys($keys, '1'));
        $client->hMSet('scan-hash', array_fill_keys($keys, '1'));
        $client->sAdd('scan-set', ...$keys);
        foreach ($keys as $score => $key) {
            $client->zAdd('scan-zset', $score, $key);
        }
        $client->setOption(Redis::OPT_SCAN, Redis::SCAN_RETRY);
        expect_members($keys, scanned(fn (&$cursor) => $client->scan($cursor, 'scan:*', 50)));
        expect_members($keys, scanned(fn (&$cursor) => $client->sScan('scan-set', $cursor)));
        $keys_of = fn ($pairs) => $pairs === false ? false : array_keys($pairs);
        expect_members($keys, scanned(fn (&$cursor) => $keys_of($client->hScan('scan-hash', $cursor))));
        expect_members($keys, scanned(fn (&$cursor) => $keys_of($client->zScan('scan-zset', $cursor))));
    },
]);
