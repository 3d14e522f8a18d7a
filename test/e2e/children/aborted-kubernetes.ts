// Aborts what waits for an API server that does not answer, and prints what comes of it. The argument is a folder for a kubeconfig.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { examineKubernetes, watchKubernetes } from '../../../packages/kubernetes/src';
import { eventually } from '../../support/eventually';
import { listen } from '../../support/listen';

async function run(folder: string): Promise<object> {
  let open = 0;
  const api = createServer(() => {});
  api.on('connection', (socket) => {
    open++;
    socket.once('close', () => open--);
  });
  const untilOpen = (isDone: (count: number) => boolean) => eventually(() => open, isDone);
  await listen(api);
  const address = api.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const kubeconfig = join(folder, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'a',
        cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true },
      },
    ],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    users: [{ name: 'a', user: {} }],
    'current-context': 'a',
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const examining = new AbortController();
  let findings = 0;
  const options = { kubeconfig, onFinding: () => findings++, signal: examining.signal };
  const examined = examineKubernetes(options);
  await untilOpen((count) => count > 0);
  examining.abort(new Error('enough'));
  const examination = await examined.catch(String);
  await untilOpen((count) => count === 0);
  const again = await examineKubernetes(options).catch(String);

  const watching = new AbortController();
  const { signal } = watching;
  const cluster = watchKubernetes({ kubeconfig, signal });
  await untilOpen((count) => count > 0);
  watching.abort(new Error('enough'));
  await untilOpen((count) => count === 0);
  const phases = [...new Set(cluster.describe().watches.map(({ phase }) => phase))];
  let watch: unknown;
  try {
    watchKubernetes({ kubeconfig, signal });
  } catch (error) {
    watch = String(error);
  }
  api.close();
  return { examination, findings, again, phases, watch, open };
}

void run(process.argv[2] ?? '').then((result) => process.stdout.write(JSON.stringify(result)));
