import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { inspect } from '../../src';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { NODE_ID, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { type Json } from '../support/xds-json';

describe('a server that is a file', () => {
  let folder: string;
  let backends: EchoBackend[];
  const clients: EchoClient[] = [];
  const log: string[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'file-config-'));
    backends = [await EchoBackend.start('first'), await EchoBackend.start('second')];
    log.length = 0;
    setLogger({ error: (...texts: unknown[]) => log.push(texts.join(' ')) });
    setLogVerbosity(logVerbosity.INFO);
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    for (const backend of backends) backend.stop();
    setLogVerbosity(logVerbosity.NONE);
    rmSync(folder, { recursive: true });
  });

  /** What was logged about the file and its content; a slow machine may lead to other lines. */
  const logged = () => log.filter((line) => /stay in use|used again|rejected/.test(line));

  const portOf = (index: number) => backends[index]?.port ?? 0;

  /** Points the client at a path and makes a client of the service. */
  function use(path: string, extra: Json = {}): EchoClient {
    const server = { server_uri: pathToFileURL(path).href, ...extra };
    registerAnew({ bootstrap: { xds_servers: [server], node: { id: NODE_ID } } });
    const client = new EchoClient(`xds:///${SERVICE}`, {});
    clients.push(client);
    return client;
  }

  /** Puts another file in the place of one, as a whole. */
  function replace(path: string, content: string): void {
    writeFileSync(`${path}.new`, content);
    renameSync(`${path}.new`, path);
  }

  function untilAnsweredBy(client: EchoClient, name: string): Promise<unknown> {
    return eventually(() => client.say(), name);
  }

  const resourcesFor = (index: number) => JSON.stringify(simpleResources([portOf(index)]));

  it('leads calls to where the file says, and elsewhere when the file does', async () => {
    const file = join(folder, 'resources.json');
    writeFileSync(file, resourcesFor(0));
    const client = use(file);
    expect(await client.say()).toBe('first');
    replace(file, resourcesFor(1));
    await untilAnsweredBy(client, 'second');
    expect(logged()).toEqual([]);
  });

  it('goes by the last good content while the file is broken, and says what is wrong', async () => {
    const file = join(folder, 'resources.yaml');
    const yaml = (index: number, field: string) =>
      [
        'x-port: &port',
        `  socket_address: { address: 127.0.0.1, ${field}: ${portOf(index)} }`,
        ...Object.entries({ ...simpleResources([]), endpoints: [] }).map(
          ([list, resources]) => `${list}: ${JSON.stringify(resources)}`,
        ),
        '$schema: ../schemas/resources.json',
        '',
      ]
        .join('\n')
        .replace(
          'endpoints: []',
          [
            'endpoints:',
            '  - cluster_name: echo',
            '    endpoints:',
            '      - locality: { zone: a }',
            '        load_balancing_weight: 1',
            '        lb_endpoints: [{ endpoint: { address: *port } }]',
          ].join('\n'),
        );
    writeFileSync(file, yaml(0, 'port_value'));
    const client = use(file);
    expect(await client.say()).toBe('first');

    replace(file, yaml(1, 'port_valve'));
    await eventually(logged, (lines) => lines.length > 0);
    expect(logged()).toEqual([
      expect.stringMatching(
        /resources\.yaml:2:41: endpoints\[0\].*unknown field "port_valve".*; the resources read before stay in use$/,
      ),
    ]);
    expect(await client.say()).toBe('first');

    replace(file, yaml(1, 'port_value'));
    await untilAnsweredBy(client, 'second');
    expect(logged().at(-1)).toMatch(/resources\.yaml can be used again$/);
  });

  it('is a volume whose link Kubernetes exchanges', async () => {
    const { endpoints, ...others } = simpleResources([portOf(0)]);
    const release = (name: string, index: number): void => {
      mkdirSync(join(folder, name));
      const changing = { endpoints: simpleResources([portOf(index)]).endpoints };
      writeFileSync(join(folder, name, 'endpoints.json'), JSON.stringify(changing));
      writeFileSync(join(folder, name, 'others.json'), JSON.stringify(others));
    };
    expect(endpoints).toHaveLength(1);
    release('..v1', 0);
    symlinkSync('..v1', join(folder, '..data'));
    for (const name of ['endpoints.json', 'others.json']) {
      symlinkSync(join('..data', name), join(folder, name));
    }
    const client = use(folder);
    expect(await client.say()).toBe('first');
    release('..v2', 1);
    symlinkSync('..v2', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await untilAnsweredBy(client, 'second');
  });

  it('says in the status of calls what is wrong with a file that was never good', async () => {
    const file = join(folder, 'resources.json');
    writeFileSync(file, '{\n  "clusters": [}\n}\n');
    const client = use(file);
    await expect(client.say()).rejects.toMatchObject({
      code: 14,
      details: expect.stringMatching(
        /: file:\/\/\/\S+ cannot be reached: \S+resources\.json: not JSON: line 2, column 16: expected a value or "\]"/,
      ),
    });
    replace(file, resourcesFor(0));
    await eventually(() => client.say().catch((error: Error) => error.message), 'first', 60_000);
  }, 90_000);

  it('stands in for a control plane that cannot be reached', async () => {
    const file = join(folder, 'resources.json');
    writeFileSync(file, resourcesFor(0));
    const gone = { server_uri: '127.0.0.1:1', channel_creds: [{ type: 'insecure' }] };
    registerAnew({
      bootstrap: {
        xds_servers: [gone, { server_uri: pathToFileURL(file).href }],
        node: { id: NODE_ID },
      },
    });
    const client = new EchoClient(`xds:///${SERVICE}`, {});
    clients.push(client);
    expect(await client.say()).toBe('first');
  });

  describe.each([
    ['listeners', `Listener "${SERVICE}"`],
    ['routes', `RouteConfiguration "${SERVICE}-routes"`],
    ['clusters', 'Cluster "echo"'],
    ['endpoints', 'ClusterLoadAssignment "echo"'],
  ])('without any %s', (list, resource) => {
    const withoutIt = () => JSON.stringify({ ...simpleResources([portOf(0)]), [list]: [] });

    it('fails calls at once, by its name, until it has one', async () => {
      const file = join(folder, 'resources.json');
      writeFileSync(file, withoutIt());
      const client = use(file);
      await expect(client.say()).rejects.toMatchObject({
        code: 14,
        details: expect.stringContaining(
          `${resource}: no such resource: ${pathToFileURL(file).href} does not contain it: add it there, or change what refers to it`,
        ),
      });
      replace(file, resourcesFor(0));
      await eventually(() => client.say().catch((error: Error) => error.message), 'first');
      expect(log.join('\n')).not.toMatch(/management server|waiting for/);
    });
  });

  it.each([
    ['fails calls', 'listeners', false],
    ['keeps what it had', 'routes', true],
    ['fails calls', 'clusters', false],
    ['keeps what it had', 'endpoints', true],
  ])('%s when %s are removed from it', async (_what, list, isKept) => {
    const file = join(folder, 'resources.json');
    writeFileSync(file, resourcesFor(0));
    const client = use(file);
    expect(await client.say()).toBe('first');
    replace(file, JSON.stringify({ ...simpleResources([portOf(0)]), [list]: [] }));
    const failing = () =>
      inspect()
        .targets.flatMap(({ resources }) => resources)
        .flatMap(({ failure }) => failure?.details ?? []);
    await eventually(failing, (resources) => resources.length > 0);
    expect(failing()).toEqual([expect.stringContaining('does not contain it')]);
    const answer = () => client.say().catch((error: Error) => error.message);
    if (isKept) expect(await answer()).toBe('first');
    // The channel is told after the client that is inspected.
    else await eventually(answer, (text) => text.includes('does not contain it'));
  });
});
