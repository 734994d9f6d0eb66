<?php
// One zset; consumers look for the first due member and race to remove it: who removed it has it. By
// predis. The article's second way, a Lua script, is a check-and-set transaction here.

declare(strict_types=1);

require __DIR__ . '/tally.php';
require 'Predis/Autoloader.php';
Predis\Autoloader::register();

const JOBS = 40;

class RacingQueue
{
    public Predis\Client $client;

    public function __construct(protected string $name)
    {
        $this->client = new Predis\Client(['port' => PORT]);
    }

    public function push(array $jobs): int
    {
        $members = [];
        foreach ($jobs as $job) {
            $members[$job['content']] = $job['time'];
        }
        return $this->client->zadd($this->name, $members);
    }

    public function take(): ?string
    {
        $due = $this->first_due($this->client);
        return $due !== null && $this->client->zrem($this->name, $due) ? $due : null;
    }

    protected function first_due($client): ?string
    {
        $one = ['limit' => ['offset' => 0, 'count' => 1]];
        return $client->zrangebyscore($this->name, 0, now_milliseconds(), $one)[0] ?? null;
    }

    public function left(): int
    {
        return $this->client->zcard($this->name);
    }
}

class TransactionQueue extends RacingQueue
{
    public function take(): ?string
    {
        $taken = null;
        $options = ['cas' => true, 'watch' => $this->name, 'retry' => 100];
        $this->client->transaction($options, function ($transaction) use (&$taken) {
            $taken = $this->first_due($transaction);
            if ($taken !== null) {
                $transaction->multi();
                $transaction->zrem($this->name, $taken);
            }
        });
        return $taken;
    }
}

/** By dueq's own commands; acknowledged when taken, for a queue that never gives a job twice. */
class NativeQueue extends RacingQueue
{
    public function push(array $jobs): int
    {
        foreach ($jobs as $job) {
            $this->client->executeRaw(['Q.PUSH', $this->name, $job['content'], 'AT', (string) $job['time']]);
        }
        return count($jobs);
    }

    public function take(): ?string
    {
        $jobs = $this->client->executeRaw(['Q.CLAIM', $this->name]);
        if (!$jobs) {
            return null;
        }
        $this->client->executeRaw(['Q.ACK', $this->name, $jobs[0][0], (string) $jobs[0][1]]);
        return $jobs[0][2];
    }

    public function left(): int
    {
        return $this->client->executeRaw(['Q.LEN', $this->name]);
    }
}

/** The article's loop: a callback for the job, another for its exception. */
function consume(RacingQueue $queue, string $tally, Closure $callback, Closure $catch): void
{
    while ($queue->client->hincrby($tally, 'taken', 0) < JOBS) {
        $job = $queue->take();
        if ($job === null) {
            usleep(5000);
            continue;
        }
        $queue->client->hincrby($tally, 'early', explode(' ', $job)[1] > now_milliseconds() ? 1 : 0);
        try {
            $callback($job);
        } catch (Exception $error) {
            $catch($error, $job);
        }
        $queue->client->hincrby($tally, 'taken', 1);
    }
}

function run(string $class, string $name): void
{
    $tally = "$name-outcome";
    $queue = new $class($name);
    $jobs = [];
    for ($id = 0; $id < JOBS; $id++) {
        $time = now_milliseconds() + $id * 13 % 300;
        $jobs[] = ['content' => "$id $time", 'time' => $time];
    }
    $pushed = $queue->push($jobs);
    run_workers(3, function () use ($class, $name, $tally) {
        $queue = new $class($name);
        consume($queue, $tally, function ($job) use ($queue, $tally) {
            if ((int) $job % 4 === 0) {
                throw new Exception('the database does not answer');
            }
            $queue->client->hincrby($tally, 'handled', 1);
        }, fn ($error, $job) => $queue->client->hincrby($tally, 'caught', 1));
    });
    $queue = new $class($name);
    print_tally([
        $name => $pushed,
        'handled' => $queue->client->hget($tally, 'handled'),
        'caught' => $queue->client->hget($tally, 'caught'),
        'early' => $queue->client->hget($tally, 'early'),
        'left' => $queue->left(),
    ]);
}

run(NATIVE ? NativeQueue::class : RacingQueue::class, 'race');
run(NATIVE ? NativeQueue::class : TransactionQueue::class, 'transaction');
