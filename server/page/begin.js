// The bar and its name are painted before anything else is loaded: then the scripts come, all at once.
const FILES = ['actions.js', 'api.js', 'app.js', 'body.js', 'chart.js', 'cron.js', 'dead.js', 'dialog.js', 'element.js', 'events.js', 'format.js', 'history.js', 'job.js', 'jobs.js', 'live.js', 'login.js', 'notice.js', 'overview.js', 'push.js', 'router.js', 'selection.js', 'server.js', 'settings.js', 'topic.js', 'topicbar.js', 'waits.js', 'workers.js'];

function load() {
  for (const file of FILES) {
    const link = document.createElement('link');
    link.rel = 'modulepreload';
    link.href = file;
    document.head.append(link);
  }
  import('./app.js');
}

// A page that nobody sees is not painted.
if (document.hidden)
  load();
else
  requestAnimationFrame(() => setTimeout(load));
