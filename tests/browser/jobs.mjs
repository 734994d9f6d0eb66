// Jobs as a shop has them, for tests and screenshots.
const HOUR = 3600000;

async function failOnce(server, topic, id, error, outcome) {
  const { jobs } = await server.api('POST', `/v1/topics/${topic}/claim`, { worker: 'mailer-2', count: 100 });
  for (const job of jobs)
    if (job.id === id)
      await server.api('POST', `/v1/topics/${topic}/jobs/${job.id}/nack`, { token: job.token, error, ...outcome && { outcome } });
    else
      await server.api('POST', `/v1/topics/${topic}/jobs/${job.id}/nack`, { token: job.token, outcome: 'SILENT', delay: '0s' });
}

export async function fillShop(server) {
  const mail = (id, to) => JSON.stringify({ template: 'order-confirmed', order: id, to, items: [{ sku: 'TEA-01', count: 2 }, { sku: 'CUP-07', count: 1 }], urgent: false, note: null });
  for (const [id, error] of [['order-1001', 'smtp: 550 no such user'], ['order-1002', 'smtp: 421 try again later (timeout)'], ['order-1003', 'template order-confirmed: no field “name”']]) {
    await server.push('mail', mail(id, `${id}@example.org`), { id });
    await failOnce(server, 'mail', id, error, 'FATAL');
  }
  await server.push('mail', mail('order-1004', 'd@example.org'), { id: 'order-1004', backoff: 'FIXED 2h' });
  await failOnce(server, 'mail', 'order-1004', 'smtp: connection refused');
  for (let i = 0; i < 12; i++)
    await server.push('mail', mail(`order-${1100 + i}`, 'e@example.org'), { id: `order-${1100 + i}`, priority: i % 3 ? 128 : 10, group: `customer-${i % 4}` });
  for (let i = 0; i < 30; i++)
    await server.push('mail', mail(`reminder-${i}`, 'f@example.org'), { id: `reminder-${i}`, at: Date.now() + Math.round(HOUR * (1 + i % 11 + i / 7)) });
  await server.api('POST', '/v1/topics/mail/claim', { worker: 'mailer-1', count: 3, lease: '10m' });
  await server.api('PATCH', '/v1/topics/mail/settings', { concurrency: '20', rate: '100/1s', events: '1000', retries: '8' });
  await server.command('Q.CONFIG', 'SET', 'ma*', 'dead-keep', '30d');
  for (const [topic, count] of [['invoices', 7], ['thumbnails', 240], ['webhooks', 31], ['search-index', 0]])
    for (let i = 0; i < Math.max(count, 1); i++)
      await server.push(topic, JSON.stringify({ number: i }), { id: `${topic}-${i}`, delay: i % 2 ? `${i}m` : '0s' });
  await server.api('POST', '/v1/topics/search-index/pause', { what: 'OUT' });
  await server.push('blobs', { base64: 'AP8BAv4=' }, { id: 'binary' });
  await server.command('Q.CRON', 'SET', 'weekly-report', 'mail', '{"template":"report"}', 'SPEC', '0 6 * * mon', 'TZ', 'Europe/Berlin', 'CATCHUP', 'ONE');
  await server.command('Q.CRON', 'SET', 'heartbeat', 'webhooks', 'ping', 'EVERY', '1h');
}
