<?php
// Delayed zset, list, reserved zset, as Laravel has them: a job that is taken is reserved until its
// worker is done, and goes back to the list when the reservation runs out. By phpredis.

declare(strict_types=1);

require __DIR__ . '/tally.php';

const JOBS = 40;
const RESERVATION = 2000;
const QUEUE = 'queues:echo_log_job';
const DELAYED = QUEUE . ':delayed';
const RESERVED = QUEUE . ':reserved';

class ReservedQueue
{
    private Redis $redis;

    public function __construct()
    {
        $this->redis = new Redis();
        $this->redis->connect('127.0.0.1', PORT);
    }

    public function push(int $id, int $due): void
    {
        $this->redis->zAdd(DELAYED, $due, json_encode(['id' => $id, 'due' => $due, 'attempts' => 0]));
    }

    /** Moves what is due: the article's four commands, made one by WATCH and MULTI. */
    private function migrate(string $from): void
    {
        $this->redis->watch($from);
        $due = $this->redis->zRangeByScore($from, '-inf', (string) now_milliseconds());
        if (!$due) {
            $this->redis->unwatch();
            return;
        }
        $this->redis->multi()->zRemRangeByRank($from, 0, count($due) - 1)->rPush(QUEUE, ...$due)->exec();
    }

    /** Takes the first job and reserves it, both or neither. */
    public function take(): ?string
    {
        $this->migrate(DELAYED);
        $this->migrate(RESERVED);
        $this->redis->watch(QUEUE);
        $job = $this->redis->lIndex(QUEUE, 0);
        if ($job === false) {
            $this->redis->unwatch();
            return null;
        }
        $until = now_milliseconds() + RESERVATION;
        return $this->redis->multi()->lPop(QUEUE)->zAdd(RESERVED, $until, $job)->exec() ? $job : null;
    }

    public function done(string $job): void
    {
        $this->redis->zRem(RESERVED, $job);
    }

    public function failed(string $job): void
    {
        $again = json_decode($job, true);
        $again['attempts']++;
        $this->redis->multi()->zRem(RESERVED, $job)->zAdd(DELAYED, now_milliseconds() + 20, json_encode($again))->exec();
    }

    public function left(): int
    {
        return $this->redis->zCard(DELAYED) + $this->redis->lLen(QUEUE) + $this->redis->zCard(RESERVED);
    }

    public function count(string $what, int $by = 1): int
    {
        return $this->redis->hIncrBy('outcome', $what, $by);
    }
}

/** The same by dueq's own commands: the lease is the reservation. */
class NativeQueue
{
    private Redis $redis;
    private array $claim = [];

    public function __construct()
    {
        $this->redis = new Redis();
        $this->redis->connect('127.0.0.1', PORT);
    }

    public function push(int $id, int $due): void
    {
        $body = json_encode(['id' => $id, 'due' => $due]);
        $this->redis->rawCommand('Q.PUSH', 'echo_log_job', $body, 'ID', (string) $id, 'AT', (string) $due);
    }

    public function take(): ?string
    {
        $jobs = $this->redis->rawCommand('Q.CLAIM', 'echo_log_job', 'LEASE', RESERVATION . 'ms');
        if (!$jobs) {
            return null;
        }
        $this->claim = $jobs[0];
        return $this->claim[2];
    }

    public function done(string $job): void
    {
        $this->redis->rawCommand('Q.ACK', 'echo_log_job', $this->claim[0], (string) $this->claim[1]);
    }

    public function failed(string $job): void
    {
        $this->redis->rawCommand('Q.NACK', 'echo_log_job', $this->claim[0], (string) $this->claim[1], 'DELAY', '20ms');
    }

    public function left(): int
    {
        return $this->redis->rawCommand('Q.LEN', 'echo_log_job');
    }

    public function count(string $what, int $by = 1): int
    {
        return $this->redis->hIncrBy('outcome', $what, $by);
    }
}

function new_queue(): ReservedQueue|NativeQueue
{
    return NATIVE ? new NativeQueue() : new ReservedQueue();
}

/** Fails every fourth job once; the first to meet job 7 dies with it. */
function work(): void
{
    $queue = new_queue();
    while ($queue->count('finished', 0) < JOBS) {
        $text = $queue->take();
        if ($text === null) {
            usleep(5000);
            continue;
        }
        $job = json_decode($text, true);
        $queue->count('early', now_milliseconds() < $job['due'] ? 1 : 0);
        $queue->count('attempts');
        $first = $queue->count("attempts of {$job['id']}") === 1;
        if ($first && $job['id'] === 7) {
            posix_kill(getmypid(), SIGKILL);
        }
        if ($first && $job['id'] % 4 === 0) {
            $queue->failed($text);
            continue;
        }
        $queue->count('finished');
        $queue->done($text);
    }
}

$queue = new_queue();
for ($id = 0; $id < JOBS; $id++) {
    $queue->push($id, now_milliseconds() + $id * 13 % 300);
}
$replaced = run_workers(3, 'work');
$queue = new_queue();
print_tally([
    'pushed' => JOBS,
    'workers that died' => $replaced,
    'finished' => $queue->count('finished', 0),
    'attempts' => $queue->count('attempts', 0),
    'early' => $queue->count('early', 0),
    'left' => $queue->left(),
]);
