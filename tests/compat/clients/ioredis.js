// A round of ioredis; see ../README.md for what the checks are and who calls this.
// node ioredis.js ioredis5
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = process.argv[2];
const Redis = require(path);
const { PORT, LOCKED_PORT, LOADING_PORT, PASSWORD } = process.env;
const BINARY = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const open = new Set();

function connect(options = {}) {
    const client = new Redis({ port: Number(PORT), retryStrategy: () => null, maxRetriesPerRequest: 0, ...options });
    client.on('error', () => {});
    open.add(client);
    return client;
}

async function refused(options) {
    const client = connect(options);
    try {
        await client.ping();
        return false;
    } catch (error) {
        return true;
    }
}

async function waitFor(condition) {
    for (let i = 0; i < 1000; i++) {
        if (await condition())
            return;
        await new Promise(resolve => setTimeout(resolve, 10));
    }
    throw new Error('waited for nothing');
}

async function blockedClients(client) {
    return Number(/blocked_clients:(\d+)/.exec(await client.info('clients'))[1]);
}

async function scanned(stream) {
    const found = [];
    for await (const batch of stream)
        found.push(...batch);
    return found;
}

// This job was claimed, that often; it is acked.
async function expectJob(client, name, [[id, token, body, times]], attempts) {
    assert.deepStrictEqual([id, body, times], [name, 'job', attempts]);
    assert.strictEqual(await client.call('Q.ACK', 'jobs', id, token), 1);
}

const checks = {
    async plain() {
        const client = connect();
        await client.set('plain', BINARY);
        assert.strictEqual(await client.ping(), 'PONG');
        assert(BINARY.equals(await client.getBuffer('plain')));
    },
    async password() {
        const port = Number(LOCKED_PORT);
        assert.strictEqual(await connect({ port, password: PASSWORD }).ping(), 'PONG');
        assert(await refused({ port }));
        assert(await refused({ port, password: 'wrong' }));
    },
    async user() {
        const port = Number(LOCKED_PORT);
        assert.strictEqual(await connect({ port, username: 'default', password: PASSWORD }).ping(), 'PONG');
        assert(await refused({ port, username: 'nobody', password: PASSWORD }));
    },
    async database() {
        await connect({ db: 5 }).set('database', 'five');
        assert.strictEqual(await connect({ db: 5 }).get('database'), 'five');
        assert.strictEqual(await connect().get('database'), null);
    },
    async name() {
        const client = connect({ connectionName: 'worker-7' });
        assert.strictEqual(await client.client('GETNAME'), 'worker-7');
        assert.match(await client.client('LIST'), /name=worker-7 /);
    },
    async resp3() {
        if (!/^6/.test(require(`${path}/package.json`).version))
            return 'skip';
        const client = connect();
        await client.hset('resp3', { a: '1' });
        assert.deepStrictEqual({ ...await client.hgetall('resp3') }, { a: '1' });
        assert.match(await client.client('LIST'), /resp=3/);
    },
    async pipeline() {
        const pipeline = connect().pipeline();
        for (let i = 0; i < 1000; i++)
            pipeline.incr('pipeline');
        const replies = await pipeline.exec();
        assert.deepStrictEqual(replies.map(([, value]) => value), replies.map((_, i) => i + 1));
    },
    async transaction() {
        const client = connect(), other = connect();
        const done = await client.multi().zadd('transaction', 2.5, 'job').zcard('transaction').exec();
        assert.deepStrictEqual(done, [[null, 1], [null, 1]]);
        await client.watch('transaction');
        await other.zadd('transaction', 3, 'job');
        assert.strictEqual(await client.multi().del('transaction').exec(), null);
        assert.strictEqual(Number(await client.zscore('transaction', 'job')), 3);
        await assert.rejects(client.multi().set('a').exec(), /EXECABORT|wrong number/);
    },
    async blocking() {
        const client = connect(), waiter = connect();
        assert.strictEqual(await client.blpop('blocking', 0.05), null);
        const taken = waiter.brpop('blocking', 'other', 0);
        await waitFor(async () => await blockedClients(client) === 1);
        await client.lpush('blocking', 'job');
        assert.deepStrictEqual(await taken, ['blocking', 'job']);
        const lost = waiter.blpop('blocking', 0).catch(() => 'hung up');
        await waitFor(async () => await blockedClients(client) === 1);
        waiter.disconnect();
        assert.strictEqual(await lost, 'hung up');
        await waitFor(async () => await blockedClients(client) === 0);
        assert.strictEqual(await client.rpush('blocking', 'kept'), 1);
        assert.strictEqual(await client.lpop('blocking'), 'kept');
    },
    async pubsub() {
        const client = connect(), listener = connect();
        const seen = [];
        listener.on('message', (channel, message) => seen.push(`${channel} ${message}`));
        listener.on('pmessage', (pattern, channel, message) => seen.push(`${pattern} ${channel} ${message}`));
        assert.strictEqual(await listener.subscribe('news'), 1);
        assert.strictEqual(await listener.psubscribe('n*'), 2);
        assert.strictEqual(await client.publish('news', 'hello'), 2);
        await waitFor(() => seen.length === 2);
        assert.deepStrictEqual(seen, ['news hello', 'n* news hello']);
        await listener.punsubscribe('n*');
        await listener.unsubscribe('news');
        assert.strictEqual(await listener.ping(), 'PONG');
    },
    async scan() {
        const client = connect();
        const keys = Array.from({ length: 500 }, (_, i) => `scan:${i}`);
        await client.mset(new Map(keys.map((key, i) => [key, i])));
        await client.hset('scan-hash', new Map(keys.map((key, i) => [key, i])));
        await client.sadd('scan-set', keys);
        await client.zadd('scan-zset', ...keys.flatMap((key, i) => [i, key]));
        const wanted = [...keys].sort();
        const unique = items => [...new Set(items)].sort();
        assert.deepStrictEqual(unique(await scanned(client.scanStream({ match: 'scan:*', count: 50 }))), wanted);
        assert.deepStrictEqual(unique(await scanned(client.sscanStream('scan-set'))), wanted);
        const evens = async stream => (await scanned(stream)).filter((_, i) => i % 2 === 0);
        assert.deepStrictEqual(unique(await evens(client.hscanStream('scan-hash'))), wanted);
        assert.deepStrictEqual(unique(await evens(client.zscanStream('scan-zset'))), wanted);
    },
    async tls() {
        const port = Number(process.env.TLS_PORT);
        const client = connect({ port, tls: { ca: fs.readFileSync(process.env.AUTHORITY) } });
        const large = Buffer.alloc(10 * 1024 * 1024, BINARY);
        await client.set('tls', large);
        assert(large.equals(await client.getBuffer('tls')));
        assert(await refused({ port, tls: {} }));
    },
    // It asks INFO for `loading` before it says that it is ready, and keeps commands until then.
    async loading() {
        const client = connect({ port: Number(LOADING_PORT), retryStrategy: () => 50, maxRetriesPerRequest: null });
        const eager = connect({ port: Number(LOADING_PORT), enableReadyCheck: false });
        for (let i = 0; i < 3; i++)
            await assert.rejects(eager.get('loaded'), /LOADING/);
        assert.strictEqual(await client.get('loaded'), 'yes');
    },
    // Elements are pushed, and others are waited for, while the server is replaced three times.
    async upgrade() {
        const { UPGRADE_PORT, UPGRADE_PID } = process.env;
        const [client, waiting] = [connect({ port: Number(UPGRADE_PORT), retryStrategy: () => 50, maxRetriesPerRequest: 20 }), connect({ port: Number(UPGRADE_PORT), retryStrategy: () => 50, maxRetriesPerRequest: 20 })];
        const run = async () => /run_id:(\w+)/.exec(await client.info('server'))[1];
        let ends = false, pushed = 0, waits = 0;
        const wait = (async () => {
            for (; !ends; waits++)
                assert.strictEqual(await waiting.blpop('nothing', 1), null);
        })();
        for (let i = 0; i < 3; i++) {
            const before = await run();
            process.kill(Number(UPGRADE_PID), 'SIGUSR2');
            while (await run() === before)
                assert.strictEqual(await client.rpush('upgraded', 'x'), ++pushed);
        }
        ends = true;
        await wait;
        assert(waits > 0);
        assert.strictEqual(await client.llen('upgraded'), pushed);
    },
    // No limit as delivered. Commands after a claim wait for it: a worker has a connection of its own. A job arrives
    // during a wait; a worker with a commandTimeout has a shorter BLOCK.
    async claim() {
        const client = connect(), worker = client.duplicate(), hasty = connect({ commandTimeout: 1000 });
        open.add(worker);
        assert.strictEqual(await worker.call('Q.CLAIM', 'jobs', 'BLOCK', '6s'), null);
        assert.strictEqual(await hasty.call('Q.CLAIM', 'jobs', 'BLOCK', '500ms'), null);
        const waiting = worker.call('Q.CLAIM', 'jobs', 'BLOCK', '60s');
        await waitFor(async () => await blockedClients(client) === 1);
        const name = await client.call('Q.PUSH', 'jobs', 'job');
        await expectJob(client, name, await waiting, 1);
    },
    // commandTimeout ends the wait of the program, not the connection: the claim stays in the server and takes a job
    // that nobody hears of, until its lease ends. disconnect() ends the claim.
    async cut() {
        const client = connect(), hasty = connect({ commandTimeout: 1000 });
        await assert.rejects(hasty.call('Q.CLAIM', 'jobs', 'BLOCK', '60s'), /Command timed out/);
        assert.strictEqual(await blockedClients(client), 1);
        const taken = await client.call('Q.PUSH', 'jobs', 'job', 'LEASE', '1s');
        await waitFor(async () => await blockedClients(client) === 0);
        assert.deepStrictEqual(await client.call('Q.CLAIM', 'jobs'), []);
        await expectJob(client, taken, await client.call('Q.CLAIM', 'jobs', 'BLOCK', '60s'), 2);
        await assert.rejects(hasty.call('Q.CLAIM', 'jobs', 'BLOCK', '60s'), /Command timed out/);
        hasty.disconnect();
        await waitFor(async () => await blockedClients(client) === 0);
        const name = await client.call('Q.PUSH', 'jobs', 'job');
        await expectJob(client, name, await client.call('Q.CLAIM', 'jobs', 'BLOCK', '500ms'), 1);
    },
    // As delivered it connects again when its connection ends, and sends a claim that waited again. A job that was held
    // comes back when its lease ends.
    async lease() {
        const client = connect(), worker = new Redis({ port: Number(PORT) });
        open.add(worker);
        const held = await client.call('Q.PUSH', 'jobs', 'job', 'LEASE', '500ms');
        const [[, token]] = await worker.call('Q.CLAIM', 'jobs');
        const waiting = worker.call('Q.CLAIM', 'others', 'BLOCK', '60s');
        await waitFor(async () => await blockedClients(client) === 1);
        assert.strictEqual(await client.call('CLIENT', 'KILL', 'TYPE', 'normal'), 1);
        await waitFor(async () => await blockedClients(client) === 1);
        const other = await client.call('Q.PUSH', 'others', 'job');
        const [[name, , , attempts]] = await waiting;
        assert.deepStrictEqual([name, attempts], [other, 1]);
        const reply = await worker.call('Q.CLAIM', 'jobs', 'BLOCK', '60s');
        await assert.rejects(worker.call('Q.ACK', 'jobs', held, token), /STALE/);
        await expectJob(worker, held, reply, 2);
    },
};
const OWN = ['upgrade', 'claim', 'cut', 'lease'];

async function main() {
    console.log('version', require(`${path}/package.json`).version);
    for (const [name, check] of Object.entries(checks)) {
        if (OWN.includes(name) && !process.env.UPGRADE_PID) {
            console.log('skip', name);
            continue;
        }
        try {
            console.log(await check() || 'ok', name);
        } catch (error) {
            console.log('FAIL', name, error.message.replace(/\n/g, ' '));
        }
        for (const client of open)
            client.disconnect();
        open.clear();
    }
    process.exit(0);
}

main();
