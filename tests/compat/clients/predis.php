<?php
// A round of predis; see ../README.md for what the checks are and who calls this.

declare(strict_types=1);

require __DIR__ . '/round.php';
require 'Predis/Autoloader.php';
Predis\Autoloader::register();

use Predis\Collection\Iterator;

function connect(array $parameters = []): Predis\Client
{
    $client = new Predis\Client($parameters + ['port' => PORT, 'read_write_timeout' => -1]);
    $client->ping();
    return $client;
}

function blocked_clients(Predis\Client $client): int
{
    return (int) $client->info('clients')['Clients']['blocked_clients'];
}

function raw(Predis\Client $client, string ...$command): mixed
{
    return $client->executeRaw($command);
}

function upgraded(int $port): Predis\Client
{
    return connect(['port' => $port]);
}

function run_of(Predis\Client $client): string
{
    return $client->info('server')['Server']['run_id'];
}

run_checks(Predis\Client::VERSION, [
    'plain' => function () {
        $client = connect();
        $client->set('plain', BINARY);
        expect(BINARY, $client->get('plain'));
    },
    'password' => function () {
        connect(['port' => LOCKED_PORT, 'password' => PASSWORD]);
        expect(true, refused(fn () => connect(['port' => LOCKED_PORT])));
        expect(true, refused(fn () => connect(['port' => LOCKED_PORT, 'password' => 'wrong'])));
    },
    'user' => function () {
        $login = ['port' => LOCKED_PORT, 'username' => 'default', 'password' => PASSWORD];
        connect($login);
        expect(true, refused(fn () => connect(['username' => 'nobody'] + $login)));
    },
    'database' => function () {
        connect(['database' => 5])->set('database', 'five');
        expect('five', connect(['database' => 5])->get('database'));
        expect(null, connect()->get('database'));
        expect(true, refused(fn () => connect(['database' => 99])));
    },
    'name' => function () {
        $client = connect();
        $client->client('setname', 'worker-7');
        expect('worker-7', $client->client('getname'));
        expect(true, in_array('worker-7', array_column($client->client('list'), 'name'), true));
    },
    'pipeline' => function () {
        $replies = connect()->pipeline(function ($pipeline) {
            for ($i = 0; $i < 1000; $i++) {
                $pipeline->incr('pipeline');
            }
        });
        expect(range(1, 1000), $replies);
    },
    'transaction' => function () {
        $client = connect();
        $done = $client->transaction(function ($transaction) {
            $transaction->zadd('transaction', 2.5, 'job');
            $transaction->zscore('transaction', 'job');
        });
        expect([1, '2.5'], $done);
        $aborted = refused(fn () => $client->transaction(['watch' => 'transaction', 'cas' => true], function ($cas) {
            expect('2.5', $cas->zscore('transaction', 'job')); // the first command sends WATCH
            connect()->zadd('transaction', 3, 'job');
            $cas->multi();
            $cas->del('transaction');
        }));
        expect(true, $aborted);
        expect('3', $client->zscore('transaction', 'job'));
    },
    'blocking' => function () {
        $client = connect();
        expect(null, $client->brpop(['blocking'], 1));
        $waiter = in_process(function () {
            $taken = connect()->brpop(['blocking', 'other'], 0);
            connect()->set('taken', implode(' ', $taken));
        });
        wait_for(fn () => blocked_clients($client) === 1);
        $client->lpush('blocking', 'job');
        wait_for(fn () => $client->get('taken') === 'blocking job');
        end_process($waiter);
        $waiter = in_process(fn () => connect()->blpop(['blocking'], 0));
        wait_for(fn () => blocked_clients($client) === 1);
        end_process($waiter);
        wait_for(fn () => blocked_clients($client) === 0);
        expect(1, $client->rpush('blocking', 'kept'));
        expect('kept', $client->lpop('blocking'));
    },
    'pubsub' => function () {
        $client = connect();
        $loop = connect()->pubSubLoop();
        $loop->subscribe('news');
        $loop->psubscribe('n*');
        $seen = [];
        foreach ($loop as $message) {
            $seen[] = $message->kind . ' ' . $message->payload;
            if (count($seen) === 2) {
                expect(2, $client->publish('news', 'hello'));
            }
            if (count($seen) === 4) {
                $loop->unsubscribe();
                $loop->punsubscribe();
            }
        }
        expect(['message hello', 'pmessage hello'], array_slice($seen, 2, 2));
    },
    'upgrade' => function () {
        $port = (int) getenv('UPGRADE_PORT');
        $waiter = in_process(function () use ($port) {
            $client = upgraded($port);
            while (!$client->get('upgrade-ends')) {
                expect(null, $client->blpop(['nothing'], 1));
            }
            $client->set('upgrade-waited', 'yes');
        });
        $client = upgraded($port);
        $pushed = 0;
        for ($i = 0; $i < 3; $i++) {
            $before = run_of($client);
            posix_kill((int) getenv('UPGRADE_PID'), SIGUSR2);
            while (run_of($client) === $before) {
                expect(++$pushed, $client->rpush('upgraded', ['x']));
            }
        }
        $client->set('upgrade-ends', 'yes');
        wait_for(fn () => $client->get('upgrade-waited') === 'yes');
        end_process($waiter);
        expect($pushed, $client->llen('upgraded'));
    },
    // A worker has no limit (read_write_timeout -1), or a shorter BLOCK. A job arrives during a wait.
    'claim' => fn () => with_limit(1, function () {
        $client = new Predis\Client(['port' => PORT]);
        $worker = connect();
        expect(null, raw($worker, 'Q.CLAIM', 'jobs', 'BLOCK', '1500ms'));
        expect(null, raw($client, 'Q.CLAIM', 'jobs', 'BLOCK', '500ms'));
        $pusher = push_to_waiter('a');
        expect_job($client, 'a', raw($worker, 'Q.CLAIM', 'jobs', 'BLOCK', '60s'), 1);
        pcntl_waitpid($pusher, $status);
    }),
    // It gives up and closes the connection; the claim has no job. The next command connects again.
    'cut' => fn () => with_limit(1, function () {
        $client = connect();
        foreach ([new Predis\Client(['port' => PORT]), connect(['read_write_timeout' => 1])] as $hasty) {
            expect_end(
                Predis\Connection\ConnectionException::class,
                1,
                fn () => raw($hasty, 'Q.CLAIM', 'jobs', 'BLOCK', '60s')
            );
            wait_for(fn () => blocked_clients($client) === 0);
            $name = raw($client, 'Q.PUSH', 'jobs', 'job');
            expect_job($client, $name, raw($hasty, 'Q.CLAIM', 'jobs', 'BLOCK', '500ms'), 1);
        }
    }),
    // A connection that ends: the wait is an exception, the next command connects again. A job that was held comes
    // back when its lease ends.
    'lease' => function () {
        $client = connect();
        $worker = connect();
        $name = raw($client, 'Q.PUSH', 'jobs', 'job', 'LEASE', '500ms');
        [[, $token]] = raw($worker, 'Q.CLAIM', 'jobs');
        $killer = kill_waiter($worker);
        expect_end(
            Predis\Connection\ConnectionException::class,
            0,
            fn () => raw($worker, 'Q.CLAIM', 'nothing', 'BLOCK', '60s')
        );
        pcntl_waitpid($killer, $status);
        $reply = raw($worker, 'Q.CLAIM', 'jobs', 'BLOCK', '60s');
        expect(1, preg_match('/^STALE/', (string) raw($client, 'Q.ACK', 'jobs', $name, (string) $token)));
        expect_job($worker, $name, $reply, 2);
    },
    'scan' => function () {
        $client = connect();
        $keys = array_map(fn ($i) => "scan:$i", range(0, 499));
        $client->mset(array_fill_keys($keys, '1'));
        $client->hmset('scan-hash', array_fill_keys($keys, '1'));
        $client->sadd('scan-set', $keys);
        $client->zadd('scan-zset', array_flip($keys));
        expect_members($keys, iterator_to_array(new Iterator\Keyspace($client, 'scan:*', 50), false));
        expect_members($keys, iterator_to_array(new Iterator\SetKey($client, 'scan-set'), false));
        expect_members($keys, array_keys(iterator_to_array(new Iterator\HashKey($client, 'scan-hash'))));
        expect_members($keys, array_keys(iterator_to_array(new Iterator\SortedSetKey($client, 'scan-zset'))));
    },
]);
