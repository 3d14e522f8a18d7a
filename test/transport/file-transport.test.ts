import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import {
  DiscoveryRequest,
  DiscoveryResponse,
  Resource,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../../src/wire/generated/google/protobuf/any';
import { encodeJson } from '../../src/wire/proto-json/encode-json';
import { createFileTransport } from '../../src/transport/file/file-transport';
import type { StreamStatus, XdsStream, XdsStreamHandler } from '../../src/xds-client/transport';
import { FakeClock } from '../support/fake-clock';
import { edsClusterJson, listenerJson, type Json } from '../support/xds-json';

const METHOD = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const TYPE = 'type.googleapis.com';
const CLUSTER = `${TYPE}/envoy.config.cluster.v3.Cluster`;
const LISTENER = `${TYPE}/envoy.config.listener.v3.Listener`;

const toAny = (typeUrl: string, json: object): Any => {
  const encoded = encodeJson(typeUrl.slice(TYPE.length + 1), { ...json });
  if (!encoded.ok) throw new Error(JSON.stringify(encoded.error));
  return { typeUrl, value: encoded.value };
};

/** The client's end of a stream. */
class Recorder implements XdsStreamHandler {
  readonly events: string[] = [];
  readonly responses: DiscoveryResponse[] = [];
  status: StreamStatus | undefined;

  onSent(): void {
    this.events.push('sent');
  }

  onMessage(bytes: Uint8Array): void {
    const response = DiscoveryResponse.decode(bytes);
    this.responses.push(response);
    const type = response.typeUrl.slice(response.typeUrl.lastIndexOf('.') + 1);
    this.events.push(
      `${type} ${response.versionInfo}: ${response.resources.map(nameOf).join(' ')}`,
    );
  }

  onClosed(status: StreamStatus): void {
    this.status = status;
    this.events.push('closed');
  }
}

function nameOf({ typeUrl, value }: Any): string {
  if (typeUrl === `${TYPE}/envoy.service.discovery.v3.Resource`) {
    const { resource } = Resource.decode(value);
    return resource === undefined ? 'empty' : `wrapped ${nameOf(resource)}`;
  }
  // In the types used here the name is field 1.
  return Buffer.from(value.subarray(2, 2 + (value[1] ?? 0))).toString();
}

describe('a transport over files', () => {
  let folder: string;
  let clock: FakeClock;
  const log: string[] = [];
  const traces: string[] = [];
  const cleanups: (() => void)[] = [];
  const logger = {
    trace: (_tracer: string, text: () => string) => traces.push(text().replaceAll(folder, '')),
    info: (text: () => string) => log.push(`INFO ${text().replaceAll(folder, '')}`),
    error: (text: () => string) => log.push(`ERROR ${text().replaceAll(folder, '')}`),
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'file-transport-'));
    clock = new FakeClock();
    log.length = 0;
    traces.length = 0;
  });
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
    rmSync(folder, { recursive: true });
  });

  function write(name: string, content: Json | string | Uint8Array): void {
    const isText = typeof content === 'string' || content instanceof Uint8Array;
    writeFileSync(join(folder, name), isText ? content : JSON.stringify(content));
  }

  /** Makes time pass until changes of files have been noticed. */
  const notice = () => clock.advance(2000);

  function open(name: string, { ignoreUnknownFields = false, method = METHOD } = {}) {
    const server: ServerConfig = {
      serverUri: pathToFileURL(join(folder, name)).href,
      channelCreds: { type: 'insecure', config: undefined },
      callCreds: [],
      key: '',
      features: new Set(),
      fetch: { refreshDelayMs: 1, requestTimeoutMs: 1, ignoreUnknownFields },
    };
    const limits = { maxMessageBytes: 100_000 };
    const transport = createFileTransport(server, { clock, logger, limits });
    if (!transport.ok) throw new Error(transport.error);
    cleanups.push(() => transport.value.close());
    const recorder = new Recorder();
    const stream = transport.value.openStream(method, recorder);
    return { transport: transport.value, recorder, stream };
  }

  function ask(stream: XdsStream, typeUrl: string, names: string[], extra: object = {}): void {
    const request = DiscoveryRequest.fromPartial({ typeUrl, resourceNames: names, ...extra });
    stream.send(DiscoveryRequest.encode(request).finish());
    clock.flush();
  }

  function read(stream: XdsStream, times = 1): void {
    for (let count = 0; count < times; count++) stream.read();
    clock.flush();
  }

  /** Why a stream over a file cannot be had, or `undefined`. */
  function problem(name: string, options: { ignoreUnknownFields?: boolean } = {}) {
    const { recorder } = open(name, options);
    clock.flush();
    return recorder.status?.details.replaceAll(folder, '');
  }

  const clusters = (...names: string[]) => names.map((name) => edsClusterJson(name));

  describe('serves', () => {
    it('refuses a FIFO and a file that is larger than a message', () => {
      execFileSync('mkfifo', [join(folder, 'fifo.json')]);
      write('large.yaml', '#'.repeat(100_001));
      const { recorder } = open('');
      clock.flush();
      expect(recorder.status?.details.replaceAll(folder, '')).toBe(
        '/fifo.json: cannot be read: a FIFO, not a regular file; ' +
          '/large.yaml: cannot be read: 100001 bytes, more than 100000',
      );
    });

    it.each<[what: string, make: (path: string) => void, reason: string]>([
      ['a device', (path) => symlinkSync('/dev/zero', path), 'a device, not a regular file'],
      ['a directory', (path) => mkdirSync(path), 'a directory, not a regular file'],
      ['a link to itself', (path) => symlinkSync(path, path), 'ELOOP'],
      ['a link to nothing', (path) => symlinkSync('nowhere', path), 'ENOENT'],
    ])('refuses %s among the files', (_, make, reason) => {
      make(join(folder, 'a.json'));
      write('b.json', { clusters: clusters('b') });
      expect(problem('')).toContain(`/a.json: cannot be read: ${reason}`);
    });

    it('refuses a directory of too many entries, whatever they are', () => {
      for (let i = 0; i <= 1000; i++) write(`${i}.txt`, '');
      expect(problem('')).toContain('cannot be read: more than 1000 entries in the directory');
    });

    it('refuses files that are larger than a message together', () => {
      for (const name of ['a', 'b']) write(`${name}.json`, `{}${' '.repeat(60_000)}`);
      expect(problem('')).toBe('/b.json: with the files before it, more than 100000 bytes');
    });

    it.each([
      ['g.json', '['.repeat(90_000), 'nested more than 200 levels deep'],
      ['g.yaml', '['.repeat(90_000), 'nested more than 200 levels deep'],
      ['g.pb', '\x13'.repeat(90_000), 'not a DiscoveryResponse'],
    ])('refuses garbage in %s, and lists little of it', (name, content, reason) => {
      write(name, content);
      const text = problem(name) ?? '';
      expect(text).toContain(reason);
      expect(text.length).toBeLessThan(2000);
    });

    it('the requested resources, when `read` is called', () => {
      write('f.json', { version_info: '7', clusters: clusters('a', 'b', 'c') });
      const { stream, recorder } = open('f.json');
      ask(stream, CLUSTER, ['c', 'a']);
      expect(recorder.events).toEqual(['sent']);
      read(stream);
      expect(recorder.events).toEqual(['sent', 'Cluster 7: a c']);
    });

    it('nothing before the call of `read` has returned', () => {
      write('f.json', { clusters: clusters('a') });
      const { stream, recorder } = open('f.json');
      stream.read();
      stream.send(
        DiscoveryRequest.encode(
          DiscoveryRequest.fromPartial({ typeUrl: CLUSTER, resourceNames: ['a'] }),
        ).finish(),
      );
      expect(recorder.events).toEqual([]);
      clock.flush();
      expect(recorder.events).toHaveLength(2);
    });

    it('names that are added, and nothing when names are removed', () => {
      write('f.json', { version_info: '1', clusters: clusters('a', 'b') });
      const { stream, recorder } = open('f.json');
      read(stream, 5);
      ask(stream, CLUSTER, ['a']);
      ask(stream, CLUSTER, ['a', 'b']);
      ask(stream, CLUSTER, ['b']);
      ask(stream, CLUSTER, []);
      ask(stream, CLUSTER, ['b']);
      expect(recorder.events.filter((event) => event !== 'sent')).toEqual([
        'Cluster 1: a',
        'Cluster 1: a b',
        'Cluster 1: b',
      ]);
    });

    it('word of what it does not have (gRFC A88)', () => {
      write('f.json', { clusters: clusters('a') });
      const { stream, recorder } = open('f.json');
      read(stream, 2);
      ask(stream, CLUSTER, ['a', 'gone']);
      ask(stream, LISTENER, ['x']);
      expect(recorder.responses.map(({ resourceErrors }) => resourceErrors)).toEqual([
        [
          {
            resourceName: { name: 'gone' },
            errorDetail: { code: 5, message: `not in ${join(folder, 'f.json')}`, details: [] },
          },
        ],
        [expect.objectContaining({ resourceName: { name: 'x' } })],
      ]);
      expect(recorder.events.at(-1)).toBe('Listener 0: ');
    });

    it('xdstp names however their parameters are ordered', () => {
      const name = 'xdstp://a/envoy.config.cluster.v3.Cluster/c';
      write('f.json', { version_info: '1', clusters: clusters(`${name}?b=1&a=2`) });
      const { stream, recorder } = open('f.json');
      read(stream);
      ask(stream, CLUSTER, [`${name}?a=2&b=1`]);
      expect(recorder.events.at(-1)).toBe(`Cluster 1: ${name}?b=1&a=2`);
    });

    it.each<[string, (resources: Any[]) => string | Uint8Array]>([
      [
        'f.json',
        () =>
          JSON.stringify({
            versionInfo: 'v',
            typeUrl: LISTENER,
            resources: [
              { '@type': CLUSTER, ...edsClusterJson('a') },
              { '@type': LISTENER, ...listenerJson('l') },
              {
                '@type': `${TYPE}/envoy.service.discovery.v3.Resource`,
                name: 'w',
                resource: { '@type': CLUSTER, ...edsClusterJson('w') },
              },
            ],
          }),
      ],
      [
        'f.yaml',
        () =>
          [
            'version_info: v',
            'x-shared: &eds { ads: {} }',
            'resources:',
            `  - { "@type": ${CLUSTER}, name: a, type: EDS, eds_cluster_config: { eds_config: *eds } }`,
            `  - ${JSON.stringify({ '@type': LISTENER, ...listenerJson('l') })}`,
            `  - "@type": ${TYPE}/envoy.service.discovery.v3.Resource`,
            `    resource: { "@type": ${CLUSTER}, name: w }`,
          ].join('\n'),
      ],
      [
        'f.pb',
        (resources) =>
          DiscoveryResponse.encode(
            DiscoveryResponse.fromPartial({ versionInfo: 'v', resources }),
          ).finish(),
      ],
    ])('a DiscoveryResponse in %s, whatever types it holds', (name, content) => {
      const wrapped = Resource.encode(
        Resource.fromPartial({ name: 'w', resource: toAny(CLUSTER, edsClusterJson('w')) }),
      ).finish();
      write(
        name,
        content([
          toAny(CLUSTER, edsClusterJson('a')),
          toAny(LISTENER, listenerJson('l')),
          { typeUrl: `${TYPE}/envoy.service.discovery.v3.Resource`, value: wrapped },
        ]),
      );
      const { stream, recorder } = open(name);
      read(stream, 2);
      ask(stream, CLUSTER, ['a', 'w']);
      ask(stream, LISTENER, ['l']);
      expect(recorder.events.filter((event) => event !== 'sent')).toEqual([
        'Cluster v: a wrapped w',
        'Listener v: l',
      ]);
    });

    it('all files of a directory, but not what is hidden or something else', () => {
      mkdirSync(join(folder, 'd'));
      write('d/b.json', { version_info: '1', clusters: clusters('b') });
      write('d/a.yaml', `version_info: 1\nclusters: ${JSON.stringify(clusters('a'))}`);
      write('d/.c.json', 'not for us');
      write('d/README.md', 'nor is this');
      const { stream, recorder } = open('d');
      read(stream);
      ask(stream, CLUSTER, ['a', 'b']);
      expect(recorder.events.at(-1)).toBe('Cluster 1: a b');
    });

    it('a version of its own when the file has none, which changes with the content', () => {
      write('f.json', { clusters: clusters('a') });
      const { stream, recorder } = open('f.json');
      read(stream, 2);
      ask(stream, CLUSTER, ['a']);
      write('f.json', { clusters: [edsClusterJson('a', { lb_policy: 'RING_HASH' })] });
      notice();
      const versions = recorder.responses.map(({ versionInfo }) => versionInfo);
      expect(versions).toEqual([
        expect.stringMatching(/^[\da-f]{12}$/),
        expect.stringMatching(/^[\da-f]{12}$/),
      ]);
      expect(new Set(versions).size).toBe(2);
    });

    it('no load reports and no incremental streams', () => {
      write('f.json', { clusters: [] });
      const { recorder } = open('f.json', { method: METHOD.replace('Stream', 'Delta') });
      clock.flush();
      expect(recorder.status).toMatchObject({ code: 12 });
    });
  });

  describe('notices a change', () => {
    it('and sends the types it concerns, what is referred to first', () => {
      const resources = (version: string) => ({
        listeners: [listenerJson('l', version)],
        clusters: [edsClusterJson('c', { lb_policy: version })],
      });
      write('f.json', { ...resources('ROUND_ROBIN'), version_info: 'x' });
      const { stream, recorder } = open('f.json');
      read(stream, 4);
      ask(stream, LISTENER, ['l']);
      ask(stream, CLUSTER, ['c']);
      recorder.events.length = 0;
      write('f.json', { ...resources('RING_HASH'), version_info: 'x' });
      notice();
      expect(recorder.events).toEqual(['Cluster x: c', 'Listener x: l']);
    });

    it('and keeps quiet about types it does not concern', () => {
      write('f.json', { listeners: [listenerJson('l')], clusters: clusters('c') });
      const { stream, recorder } = open('f.json');
      read(stream, 4);
      ask(stream, LISTENER, ['l']);
      ask(stream, CLUSTER, ['c']);
      recorder.events.length = 0;
      write('f.json', { listeners: [listenerJson('l')], clusters: clusters('c', 'd') });
      notice();
      expect(recorder.events).toEqual([expect.stringMatching(/^Cluster \w+: c$/)]);
    });

    it('and sends only the last state to one who reads late', () => {
      write('f.json', { version_info: '1', clusters: clusters('a') });
      const { stream, recorder } = open('f.json');
      ask(stream, CLUSTER, ['a']);
      for (const version of ['2', '3']) {
        write('f.json', { version_info: version, clusters: clusters('a') });
        notice();
      }
      read(stream, 2);
      expect(recorder.events).toEqual(['sent', 'Cluster 3: a']);
    });

    it('and leaves a resource out that is gone', () => {
      write('f.json', { version_info: '1', clusters: clusters('a', 'b') });
      const { stream, recorder } = open('f.json');
      read(stream, 2);
      ask(stream, CLUSTER, ['a', 'b']);
      write('f.json', { version_info: '2', listeners: [] });
      notice();
      expect(recorder.events.at(-1)).toBe('Cluster 0: ');
    });

    it('but not one that changes nothing', () => {
      write('f.json', { clusters: clusters('a') });
      const { stream, recorder } = open('f.json');
      read(stream, 3);
      ask(stream, CLUSTER, ['a']);
      write('f.json', `\n${JSON.stringify({ clusters: clusters('a') })}`);
      notice();
      expect(recorder.responses).toHaveLength(1);
    });

    it('no longer once it is closed', () => {
      write('f.json', { clusters: clusters('a') });
      const { stream, recorder, transport } = open('f.json');
      read(stream, 3);
      ask(stream, CLUSTER, ['a']);
      transport.close();
      write('f.json', { clusters: [] });
      notice();
      expect(recorder.events).toHaveLength(2);
      expect(clock.pendingTimers).toBe(0);
    });
  });

  it('keeps the last good content, and says what is wrong once', () => {
    write('f.json', { clusters: clusters('a') });
    const { stream, recorder, transport } = open('f.json');
    read(stream, 3);
    ask(stream, CLUSTER, ['a']);
    for (const [content, ms] of [
      ['{', 2000],
      ['{', 5000],
    ] as const) {
      write('f.json', content);
      clock.advance(ms);
    }
    expect(log).toEqual([
      'ERROR /f.json: not JSON: line 1, column 2: expected a member name or "}"; the resources read before stay in use',
    ]);
    rmSync(join(folder, 'f.json'));
    notice();
    expect(log[1]).toMatch(/^ERROR \/f\.json: cannot be read: ENOENT.*stay in use$/);
    const again = new Recorder();
    const second = transport.openStream(METHOD, again);
    read(second);
    ask(second, CLUSTER, ['a']);
    expect(again.events.at(-1)).toMatch(/^Cluster \w+: a$/);
    write('f.json', { clusters: clusters('a') });
    notice();
    expect(log.at(-1)).toBe('INFO /f.json can be used again');
    expect(recorder.responses).toHaveLength(1);
  });

  it('traces whether what it sent was accepted', () => {
    write('f.json', { version_info: '1', clusters: clusters('a') });
    const { stream } = open('f.json');
    read(stream, 1);
    ask(stream, CLUSTER, ['a']);
    ask(stream, CLUSTER, ['a'], { responseNonce: '1', versionInfo: '1' });
    ask(stream, CLUSTER, ['a'], { responseNonce: '1', errorDetail: { code: 3, message: 'no' } });
    expect(traces).toEqual([
      `/f.json: response 1: version "1" of ${CLUSTER}`,
      `/f.json: response 1 with ${CLUSTER} was accepted`,
      `/f.json: response 1 with ${CLUSTER} was rejected: no`,
    ]);
  });

  describe('cannot be had', () => {
    it.each<[string, string, Json | string | Uint8Array, string]>([
      [
        'of a file of another kind',
        'f.txt',
        '{}',
        '/f.txt: its name must end in .json, .yaml, .yml, .pb, .binpb',
      ],
      [
        'of an empty file',
        'f.yaml',
        '',
        '/f.yaml:1:1: expected an object with resources, listeners, routes, route_configs, clusters, endpoints, got nothing',
      ],
      [
        'of a list',
        'f.json',
        '[]',
        '/f.json:1:1: expected an object with resources, listeners, routes, route_configs, clusters, endpoints, got a list',
      ],
      [
        'of bad YAML',
        'f.yaml',
        'clusters: [\n',
        '/f.yaml:2:1: Flow sequence in block collection must be sufficiently indented and end with a ]',
      ],
      [
        'of bytes that are something else',
        'f.pb',
        Uint8Array.of(10, 200, 1),
        '/f.pb: not a DiscoveryResponse: ',
      ],
      [
        'with an unknown key',
        'f.json',
        '{\n "cluster": []}',
        '/f.json:2:2: unknown key "cluster"; expected resources, listeners, routes, route_configs, clusters, endpoints, or x-… for anchors',
      ],
      [
        'with something else than a list',
        'f.yaml',
        'clusters: { a: 1 }',
        '/f.yaml:1:1: clusters: expected a list, got an object',
      ],
      [
        'with a resource that is none',
        'f.yaml',
        'clusters:\n  - a',
        '/f.yaml:2:5: clusters[0]: expected an object, got "a"',
      ],
      [
        'with a resource of no type',
        'f.json',
        '{ "resources": [{ "name": "a" }] }',
        '/f.json:1:17: resources[0]: "@type" is missing',
      ],
      [
        'with a resource of an unknown type',
        'f.json',
        '{ "resources": [{ "@type": "x/a.B" }] }',
        '/f.json:1:19: resources[0].@type: unknown type "x/a.B"',
      ],
      [
        'with a field that does not exist',
        'f.json',
        '{ "clusters": [\n  { "name": "a", "typo": 1 } ] }',
        '/f.json:2:18: clusters[0]: unknown field "typo"',
      ],
      [
        'with a value that cannot be',
        'f.yaml',
        'clusters:\n  - name: a\n    lb_policy: BEST',
        '/f.yaml:3:5: clusters[0].lb_policy: "BEST" is not one of',
      ],
      [
        'with a resource twice',
        'f.json',
        { clusters: clusters('a', 'a') },
        '/f.json: Cluster "a" is in it twice',
      ],
      [
        'with an empty wrapper',
        'f.json',
        { resources: [{ '@type': `${TYPE}/envoy.service.discovery.v3.Resource`, name: 'a' }] },
        '/f.json:1:15: resources[0]: the wrapper contains no resource',
      ],
    ])('%s', (_what, name, content, expected) => {
      write(name, content);
      expect(problem(name)?.slice(0, expected.length)).toBe(expected);
    });

    it('without a file', () => {
      expect(problem('f.json')).toMatch(/^\/f\.json: cannot be read: ENOENT/);
    });

    it('of a directory without files', () => {
      expect(problem('.')).toMatch(
        /has no file that ends in \.json, \.yaml, \.yml, \.pb, \.binpb$/,
      );
    });

    it('of files that disagree', () => {
      mkdirSync(join(folder, 'd'));
      for (const name of ['d/1.json', 'd/2.json']) write(name, { clusters: clusters('a') });
      expect(problem('d')).toBe('/d/2.json: Cluster "a" is in /d/1.json, too');
    });

    it('and says how much more is wrong', () => {
      write('f.json', { clusters: Array.from({ length: 9 }, () => ({ typo: 1 })) });
      expect(problem('f.json')).toMatch(/clusters\[4\]: unknown field "typo"; and 4 more$/);
    });
  });

  it('skips unknown fields with ignore_unknown_fields', () => {
    const cluster = { ...edsClusterJson('a'), brand_new: 1 };
    write('f.json', {
      resources: [
        { '@type': CLUSTER, ...cluster },
        { '@type': `${TYPE}/acme.v1.Thing`, what: 'ever' },
      ],
    });
    expect(problem('f.json')).toContain('unknown field "brand_new"');
    expect(problem('f.json', { ignoreUnknownFields: true })).toBeUndefined();
  });

  it('is tried anew by the next stream', () => {
    const { transport } = open('f.json');
    write('f.json', { version_info: '1', clusters: clusters('a') });
    const recorder = new Recorder();
    const stream = transport.openStream(METHOD, recorder);
    read(stream);
    ask(stream, CLUSTER, ['a']);
    expect(recorder.events.at(-1)).toBe('Cluster 1: a');
  });
});
