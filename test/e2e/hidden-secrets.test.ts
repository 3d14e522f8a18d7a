import { addAdminServicesToServer, Metadata, Server } from '@grpc/grpc-js';
import { type AdminPage, serveAdminPage } from '../../packages/page/src';
import { explainCall, inspect, registerHttpFilter } from '../../src';
import { FakeIo } from '../cli/fake-io';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  SERVICE,
  simpleResources,
  registerAnew,
  useSharedMesh,
} from '../support/mesh';
import { getPage, readPage } from '../support/page-reader';
import { listenerJson, routeConfigJson, routerFilter, routeToCluster } from '../support/xds-json';
import { bind } from '../support/listen';

const MARKER = 'm4rk3r';
const TARGET = `xds:///${SERVICE}`;
/** What an exception of an application, or a server, may quote. */
const MESSAGE = [
  `cannot reach https://user:${MARKER}@h.example/p?sig=${MARKER}&token=${MARKER}`,
  `access_token=${MARKER}`,
  `"Authorization: Bearer ${MARKER}"`,
  `"cookie: sid=${MARKER}"`,
].join(', ');

const filterConfig = (isGood: boolean) => ({
  name: 'stamp',
  typed_config: {
    '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
    type_url: 'acme.v1.Stamp',
    value: { isGood, add: [{ header: 'authorization', value: MARKER }], set: { cookie: MARKER } },
  },
});

const resources = (port: number, isGood: boolean) => ({
  ...simpleResources([port]),
  listeners: [
    listenerJson(SERVICE, undefined, { http_filters: [filterConfig(isGood), routerFilter] }),
  ],
  routes: [
    routeConfigJson(`${SERVICE}-routes`, [
      {
        ...routeToCluster('echo'),
        match: {
          prefix: '',
          headers: [{ name: 'authorization', string_match: { exact: MARKER } }],
        },
      },
      routeToCluster('echo', {
        hash_policy: [
          {
            header: {
              header_name: 'Authorization',
              regex_rewrite: { pattern: { regex: MARKER }, substitution: `${MARKER}2` },
            },
          },
        ],
      }),
    ]),
  ],
});

// One secret in every place of a configuration that a screen, a file or a log shows.
describe('a secret', () => {
  const lines: string[] = [];
  const mesh = useSharedMesh();
  let page: AdminPage;
  let admin: Server;
  let address: string;
  beforeAll(async () => {
    registerHttpFilter({
      configTypes: ['acme.v1.Stamp'],
      parseConfig(input) {
        if (input.kind === 'json' && input.json['isGood'] === true) return {};
        throw new Error(MESSAGE);
      },
      createCallFilter: () => undefined,
    });
    const log = (record: object) => void lines.push(JSON.stringify(record));
    registerAnew({ bootstrap: bootstrapFor(mesh.address), logger: { log } });
    page = await serveAdminPage({ port: 0 });
    admin = new Server();
    addAdminServicesToServer(admin);
    const port = await bind(admin);
    address = `127.0.0.1:${port}`;
    const backend = await mesh.backend('a');
    mesh.serve(resources(backend.port, true));
    await mesh.client().say();
    mesh.serve(resources(backend.port, false));
    await eventually(
      () => JSON.stringify(inspect()),
      (text) => text.includes('NACKED') && lines.some((line) => line.includes('cannot reach')),
    );
  });
  afterAll(async () => {
    await page.close();
    admin.forceShutdown();
    registerAnew({ bootstrap: bootstrapFor(mesh.address) });
  });

  async function dump(...args: readonly string[]): Promise<string> {
    const io = new FakeIo();
    await io.run('dump', ...args);
    return [...io.out, ...io.errors].join('\n');
  }

  const views = ['targets', 'servers', 'resources', 'routes', 'graph', 'events'];

  it.each<[string, string, () => string | Promise<string>]>([
    ['inspect()', 'cannot reach', () => JSON.stringify(inspect({ contents: true }))],
    ['explainCall()', 'header authorization', () => explained().text],
    ['explainCall() as an object', '"stamp"', () => explained().json],
    ['the log', 'cannot reach', () => lines.join('\n')],
    ['the report of the page', 'cannot reach', async () => (await report()).text],
    ['the page', 'cannot reach', pageText],
    ['dump --page', 'cannot reach', () => dump('--page', page.url, '--json')],
    ['dump --admin', 'cannot reach', () => dump('--admin', address, '--json')],
    ['dump --admin as a table', 'cannot reach', () => dump('--admin', address)],
  ])('is not shown by %s', async (_, shown, read) => {
    const text = await read();
    expect(text).toContain(shown);
    expect(text).toContain('[redacted]');
    expect(text).not.toContain(MARKER);
  });

  const report = () => getPage(page, '/api/report?contents=true');

  function explained() {
    const headers = new Metadata();
    headers.set('authorization', `a-${MARKER}`);
    const explanation = explainCall(TARGET, '/test.Echo/Say', headers);
    return { text: String(explanation), json: JSON.stringify(explanation) };
  }

  /** The messages of every view of the page. */
  async function pageText(): Promise<string> {
    let text = '';
    for (const view of views) {
      const stream = await readPage(page, `view=${view}&target=${encodeURIComponent(TARGET)}`);
      text += await eventually(
        () => JSON.stringify(stream.messages),
        (read) => read.includes('"rows":[{'),
      );
      stream.request.destroy();
    }
    return text;
  }
});
