// Shows the names of the topics.
const session = await fetch('/v1/session');
const topics = session.ok ? await (await fetch('/v1/topics')).json() : { topics: ['log in first'] };
document.getElementById('topics').textContent = topics.topics.join('\n');
