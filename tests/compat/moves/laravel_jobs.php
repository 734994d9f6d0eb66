<?php
// Real Laravel (illuminate/queue): `push` gives it jobs, one of which a worker holds that died;
// `work` takes and does them until WANTED are done.

declare(strict_types=1);

require '/usr/share/php/Illuminate/Queue/autoload.php';
require '/usr/share/php/Illuminate/Redis/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Queue\Connectors\RedisConnector;
use Illuminate\Queue\RedisQueue;
use Illuminate\Redis\RedisManager;

const QUEUE = 'mail';
const RETRY_AFTER = 4;

$container = new Container();
$redis = new RedisManager($container, 'phpredis', [
    'options' => ['prefix' => 'app_'],
    'default' => ['host' => '127.0.0.1', 'port' => (int) getenv('PORT'), 'database' => 0],
]);
$queue = (new RedisConnector($redis))->connect(['queue' => QUEUE, 'retry_after' => RETRY_AFTER]);
$queue->setContainer($container);
$queue->setConnectionName('redis');

class NoteJob
{
    public static $done;

    public function fire($job, array $data): void
    {
        (self::$done)($data['number']);
        $job->delete();
    }
}

$plain = new Redis();
$plain->connect('127.0.0.1', (int) getenv('PORT'));
NoteJob::$done = fn (int $number) => $plain->rPush('done', (string) $number);

function push(RedisQueue $queue): void
{
    for ($number = 0; $number < 21; $number++) {
        $queue->push('NoteJob', ['number' => $number], QUEUE);
    }
    for ($number = 21; $number < 30; $number++) {
        $queue->later(4, 'NoteJob', ['number' => $number], QUEUE);
    }
    $queue->pop(QUEUE); // and the worker dies
}

function work(RedisQueue $queue, Redis $plain): void
{
    $end = time() + 60;
    while ($plain->lLen('done') < (int) getenv('WANTED') && time() < $end) {
        $job = $queue->pop(QUEUE);
        $job ? $job->fire() : usleep(100000);
    }
    for ($more = 0; $more < 5; $more++) { // for a job that comes twice
        $job = $queue->pop(QUEUE);
        $job ? $job->fire() : usleep(100000);
    }
}

$argv[1] === 'push' ? push($queue) : work($queue, $plain);
