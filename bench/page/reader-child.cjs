// Reads the stream of a live page, as a browser that shows the graph of the target does.
const [url] = process.argv.slice(2);
const [origin, token] = url.split('/#token=');
const target = encodeURIComponent('xds:///one.example.com');
const headers = { Authorization: `Bearer ${token}` };

async function read() {
  const path = `/api/stream?view=targets&view=graph&target=${target}`;
  const { body } = await fetch(origin + path, { headers });
  const reader = body.getReader();
  while (!(await reader.read()).done);
}

// The stream ends when the other process does.
read().catch(() => process.exit());
