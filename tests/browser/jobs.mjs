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
  await server.push('mail', mail('receipt-1', 'g@example.org'), { id: 'receipt-1', 'on-dead': 'WAIT', after: ['order-1105', 'thumbnails:thumbnails-3'] });
  await server.push('mail', mail('receipt-2', 'g@example.org'), { id: 'receipt-2', after: ['receipt-1'] });
  await server.push('blobs', { base64: 'AP8BAv4=' }, { id: 'binary' });
  await server.command('Q.CRON', 'SET', 'weekly-report', 'mail', '{"template":"report"}', 'SPEC', '0 6 * * mon', 'TZ', 'Europe/Berlin', 'CATCHUP', 'ONE');
  await server.command('Q.CRON', 'SET', 'heartbeat', 'webhooks', 'ping', 'EVERY', '1h');
}

// A history as a server has it after a busy day, in place of the short one of a server under test: with a peak, a gap, and rest.
const STEPS = { minutes: [10000, 90], hours: [60000, 180], day: [600000, 144] };

export async function showBusyDay(page) {
  const columns = ['pushed', 'claimed', 'acked', 'failed', 'ready', 'delayed', 'wait_p50', 'wait_p99', 'run_p50', 'run_p99', 'lateness_p99'];
  await page.route(/\/history\?/, async (route) => {
    const [step, count] = STEPS[new URL(route.request().url()).searchParams.get('range')];
    const end = Math.floor(Date.now() / (6 * HOUR)) * 6 * HOUR; // a time of which the axis has the name, at its very end
    const points = Array.from({ length: count }, (_, i) => {
      const load = (1 + Math.sin(i / count * 2 * Math.PI - 1.5)) / 2 + (i % 7) / 20;
      const peak = i > count * 0.6 && i < count * 0.65 ? 4 : 1;
      const jobs = Math.round(load * step / 20 * peak);
      const values = [jobs, jobs, Math.round(jobs * 0.97), i % 5 ? 0 : Math.round(jobs / 40), Math.round(load * 900 * peak), 12000 + Math.round(3000 * Math.cos(i / 9)),
        Math.round(8 + load * 20), Math.round(40 + load * 400 * peak), Math.round(120 + load * 30), Math.round(900 + load * 2500), Math.round(15 + load * 300 * peak)];
      return [end - (count - 1 - i) * step, ...i > count * 0.3 && i < count * 0.36 ? values.map(() => null) : values];
    });
    await route.fulfill({ json: { step_ms: step, columns: ['time', ...columns], points } });
  });
}

// Jobs that fall due over the coming days.
export async function fillDays(server) {
  const jobs = Array.from({ length: 900 }, (_, i) => ({ body: 'x', delay: `${Math.round(i * i / 900 / 900 * 29 * 24 * 60) + 5}m` }));
  await server.api('POST', '/v1/topics/mail/push-many', { jobs });
}
