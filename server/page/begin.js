// The name of the page is painted before anything else is loaded: then style and scripts come, all at once. Whatever is asked
// for earlier takes processor time from the first paint.
const FILES = ['actions.js', 'api.js', 'app.js', 'body.js', 'chart.js', 'cron.js', 'dead.js', 'dialog.js', 'element.js', 'events.js', 'format.js', 'history.js', 'job.js', 'jobs.js', 'live.js', 'login.js', 'notice.js', 'overview.js', 'push.js', 'router.js', 'selection.js', 'server.js', 'settings.js', 'topic.js', 'topicbar.js', 'waits.js', 'workers.js'];

function add(rel, href) {
  const link = document.createElement('link');
  link.rel = rel;
  link.href = href;
  document.head.append(link);
  return link;
}

let isLoading = false;

function load() {
  if (isLoading)
    return;
  isLoading = true;
  const style = add('stylesheet', 'style.css');
  style.onload = () => import('./app.js');
  style.onerror = style.onload;
  for (const file of FILES)
    add('modulepreload', file);
}

// A page that nobody sees is not painted; and some browsers do not tell.
if (document.hidden)
  load();
else
  new PerformanceObserver(load).observe({ type: 'paint', buffered: true });
setTimeout(load, 300);
