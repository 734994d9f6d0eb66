// A round of node-redis 4 to 6; see ../README.md for what the checks are and who calls this.
// node node_redis.js redis5
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = process.argv[2];
const redis = require(path);
const { version } = require(`${path}/package.json`);
const { PORT, LOCKED_PORT, PASSWORD } = process.env;
const MODERN = Number(version.split('.')[0]) >= 5;
const open = new Set();

async function connect({ port = PORT, ...options } = {}) {
    const client = redis.createClient({ socket: { port: Number(port), reconnectStrategy: false }, ...options });
    client.on('error', () => {});
    await client.connect();
    open.add(client);
    return client;
}

async function refused(options) {
    try {
        await (await connect(options)).ping();
        return false;
    } catch (error) {
        return true;
    }
}

async function hangUp(client) {
    open.delete(client);
    if (!client.isOpen)
        return; // what closed itself cannot be closed
    if (client.destroy)
        client.destroy();
    else
        await client.disconnect();
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

async function scanned(iterator) {
    const found = new Set();
    for await (const batch of iterator)
        for (const item of Array.isArray(batch) ? batch : [batch])
            found.add(item.field ?? item.value ?? item);
    return [...found].sort();
}

// This job was claimed, that often; it is acked.
async function expectJob(client, name, [[id, token, body, times]], attempts) {
    assert.deepStrictEqual([id, body, times], [name, 'job', attempts]);
    assert.strictEqual(await client.sendCommand(['Q.ACK', 'jobs', id, String(token)]), 1);
}

const checks = {
    async plain() {
        const client = await connect();
        await client.set('plain', 'a\0b\r\n\u00e9');
        assert.strictEqual(await client.ping(), 'PONG');
        assert.strictEqual(await client.get('plain'), 'a\0b\r\n\u00e9');
    },
    async password() {
        assert.strictEqual(await (await connect({ port: LOCKED_PORT, password: PASSWORD })).ping(), 'PONG');
        assert(await refused({ port: LOCKED_PORT }));
        assert(await refused({ port: LOCKED_PORT, password: 'wrong' }));
    },
    async user() {
        const login = { port: LOCKED_PORT, username: 'default', password: PASSWORD };
        assert.strictEqual(await (await connect(login)).ping(), 'PONG');
        assert(await refused({ ...login, username: 'nobody' }));
    },
    async database() {
        await (await connect({ database: 5 })).set('database', 'five');
        assert.strictEqual(await (await connect({ database: 5 })).get('database'), 'five');
        assert.strictEqual(await (await connect()).get('database'), null);
        assert(await refused({ database: 99 }));
    },
    async name() {
        const client = await connect({ name: 'worker-7' });
        assert.strictEqual(await client.clientGetName(), 'worker-7');
        assert((await client.clientList()).some(entry => entry.name === 'worker-7'));
    },
    async resp3() {
        if (!MODERN)
            return 'skip';
        const client = await connect({ RESP: 3 });
        await client.hSet('resp3', { a: '1' });
        await client.zAdd('resp3-zset', { score: 2.5, value: 'job' });
        assert.deepStrictEqual({ ...await client.hGetAll('resp3') }, { a: '1' });
        assert.strictEqual(await client.zScore('resp3-zset', 'job'), 2.5);
        assert.strictEqual((await client.sendCommand(['HELLO'])).proto, 3);
    },
    async pipeline() {
        const client = await connect();
        const replies = await Promise.all(Array.from({ length: 1000 }, () => client.incr('pipeline')));
        assert.deepStrictEqual(replies, replies.map((_, i) => i + 1));
    },
    async transaction() {
        const client = await connect(), other = await connect();
        const job = { score: 2.5, value: 'job' };
        const done = await client.multi().zAdd('transaction', job).zScore('transaction', 'job').exec();
        assert.deepStrictEqual(done, [1, 2.5]);
        await client.watch('transaction');
        await other.zAdd('transaction', { ...job, score: 3 });
        await assert.rejects(client.multi().del('transaction').exec(), redis.WatchError);
        assert.strictEqual(await client.zScore('transaction', 'job'), 3);
    },
    async blocking() {
        const client = await connect(), waiter = await connect();
        assert.strictEqual(await client.blPop('blocking', 0.05), null);
        const taken = waiter.brPop(['blocking', 'other'], 0);
        await waitFor(async () => await blockedClients(client) === 1);
        await client.lPush('blocking', 'job');
        assert.deepStrictEqual({ ...await taken }, { key: 'blocking', element: 'job' });
        const lost = waiter.blPop('blocking', 0).catch(() => 'hung up');
        await waitFor(async () => await blockedClients(client) === 1);
        await hangUp(waiter);
        assert.strictEqual(await lost, 'hung up');
        await waitFor(async () => await blockedClients(client) === 0);
        assert.strictEqual(await client.rPush('blocking', 'kept'), 1);
        assert.strictEqual(await client.lPop('blocking'), 'kept');
    },
    async pubsub() {
        const client = await connect(), listener = await connect();
        const seen = [];
        await listener.subscribe('news', message => seen.push(message));
        await listener.pSubscribe('n*', (message, channel) => seen.push(`${channel} ${message}`));
        assert.strictEqual(await client.publish('news', 'hello'), 2);
        await waitFor(() => seen.length === 2);
        assert.deepStrictEqual(seen, ['hello', 'news hello']);
        await listener.pUnsubscribe('n*');
        await listener.unsubscribe('news');
        assert.strictEqual(String(await listener.ping()), 'PONG');
    },
    async scan() {
        const client = await connect();
        const keys = Array.from({ length: 500 }, (_, i) => `scan:${i}`), wanted = [...keys].sort();
        await client.mSet(Object.fromEntries(keys.map(key => [key, '1'])));
        await client.hSet('scan-hash', Object.fromEntries(keys.map(key => [key, '1'])));
        await client.sAdd('scan-set', keys);
        await client.zAdd('scan-zset', keys.map((value, score) => ({ score, value })));
        assert.deepStrictEqual(await scanned(client.scanIterator({ MATCH: 'scan:*', COUNT: 50 })), wanted);
        assert.deepStrictEqual(await scanned(client.sScanIterator('scan-set')), wanted);
        assert.deepStrictEqual(await scanned(client.hScanIterator('scan-hash')), wanted);
        assert.deepStrictEqual(await scanned(client.zScanIterator('scan-zset')), wanted);
    },
    async tls() {
        const socket = { port: Number(process.env.TLS_PORT), tls: true, reconnectStrategy: false };
        const client = await connect({ socket: { ...socket, ca: fs.readFileSync(process.env.AUTHORITY) } });
        const large = 'large value '.repeat(100000);
        await client.set('tls', large);
        assert.strictEqual(await client.get('tls'), large);
        assert(await refused({ socket }));
    },
    // Elements are pushed, and others are waited for, while the server is replaced three times.
    async upgrade() {
        const { UPGRADE_PORT, UPGRADE_PID } = process.env;
        const [client, waiting] = [await connect({ socket: { port: Number(UPGRADE_PORT) } }), await connect({ socket: { port: Number(UPGRADE_PORT) } })];
        const run = async () => /run_id:(\w+)/.exec(await client.info('server'))[1];
        let ends = false, pushed = 0, waits = 0;
        const wait = (async () => {
            for (; !ends; waits++)
                assert.strictEqual(await waiting.blPop('nothing', 1), null);
        })();
        for (let i = 0; i < 3; i++) {
            const before = await run();
            process.kill(Number(UPGRADE_PID), 'SIGUSR2');
            while (await run() === before)
                assert.strictEqual(await client.rPush('upgraded', 'x'), ++pushed);
        }
        ends = true;
        await wait;
        assert(waits > 0);
        assert.strictEqual(await client.lLen('upgraded'), pushed);
    },
    // No limit as delivered: that of version 6, 5 s, ends when a command is sent. Commands after a claim wait for it: a
    // worker has a client of its own. A job arrives during a wait.
    async claim() {
        const client = await connect(), worker = client.duplicate();
        worker.on('error', () => {});
        await worker.connect();
        open.add(worker);
        assert.strictEqual(await worker.sendCommand(['Q.CLAIM', 'jobs', 'BLOCK', '6s']), null);
        const waiting = worker.sendCommand(['Q.CLAIM', 'jobs', 'BLOCK', '60s']);
        await waitFor(async () => await blockedClients(client) === 1);
        const name = await client.sendCommand(['Q.PUSH', 'jobs', 'job']);
        await expectJob(client, name, await waiting, 1);
    },
    // socketTimeout (version 5 on) is how long it waits for any reply; then it closes the connection, and the claim has
    // no job. With version 4 it is the program that gives up.
    async cut() {
        const client = await connect();
        const hasty = await connect({ socket: { port: Number(PORT), reconnectStrategy: false, socketTimeout: 1000 } });
        const waiting = hasty.sendCommand(['Q.CLAIM', 'jobs', 'BLOCK', '60s']);
        const cut = assert.rejects(waiting, MODERN ? /Socket timeout/ : /Disconnects client/);
        await waitFor(async () => await blockedClients(client) === 1);
        if (!MODERN)
            await hangUp(hasty);
        await cut;
        await waitFor(async () => await blockedClients(client) === 0);
        const name = await client.sendCommand(['Q.PUSH', 'jobs', 'job']);
        await expectJob(client, name, await client.sendCommand(['Q.CLAIM', 'jobs', 'BLOCK', '500ms']), 1);
    },
    // As delivered it connects again when its connection ends; a claim that waited is an error. A job that was held
    // comes back when its lease ends.
    async lease() {
        const client = await connect(), worker = await connect({ socket: { port: Number(PORT) } });
        const held = await client.sendCommand(['Q.PUSH', 'jobs', 'job', 'LEASE', '500ms']);
        const [[, token]] = await worker.sendCommand(['Q.CLAIM', 'jobs']);
        const cut = assert.rejects(worker.sendCommand(['Q.CLAIM', 'nothing', 'BLOCK', '60s']), /closed unexpectedly/);
        await waitFor(async () => await blockedClients(client) === 1);
        assert.strictEqual(await client.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal']), 1);
        await cut;
        const reply = await worker.sendCommand(['Q.CLAIM', 'jobs', 'BLOCK', '60s']);
        await assert.rejects(worker.sendCommand(['Q.ACK', 'jobs', held, String(token)]), /STALE/);
        await expectJob(worker, held, reply, 2);
    },
};
const OWN = ['upgrade', 'claim', 'cut', 'lease'];

async function main() {
    console.log('version', version);
    for (const [name, check] of Object.entries(checks)) {
        if (OWN.includes(name) && !process.env.UPGRADE_PID) {
            console.log('skip', name);
            continue;
        }
        try {
            console.log(await check() || 'ok', name);
        } catch (error) {
            console.log('FAIL', name, String(error.message || error).replace(/\n/g, ' '));
        }
        await Promise.all([...open].map(hangUp));
    }
    process.exit(0);
}

main();
