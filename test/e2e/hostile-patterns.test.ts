import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { routeKind } from '../../src/control-plane';
import type { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, useSharedMesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

jest.setTimeout(30_000);

const ECHO = '/test.Echo/Say';
const SIZE = 50_000;

/** Patterns that take a backtracking engine longer than anyone lives to refuse `aaa…a!`. */
const HOSTILE = [
  '(a+)+$',
  '(a|aa)+$',
  '(a|a?)+$',
  '(a*)*b',
  '([a-z]+)*-',
  '(.*a){20}',
  '(.*)*x',
  '(a{1,30}){1,30}$',
];

const matching = 'a'.repeat(SIZE);
const nearlyMatching = (size: number) => `${'a'.repeat(size - 1)}!`;

describe('a route with an expression', () => {
  const mesh = useSharedMesh({ limits: { maxRegexStepsPerCall: Number.MAX_SAFE_INTEGER } });
  let client: Client;
  const backends = new Map<string, EchoBackend>();

  beforeAll(async () => {
    for (const name of ['plain', 'matched']) backends.set(name, await mesh.backend(name));
    client = new Client(`xds:///${SERVICE}`, credentials.createInsecure());
    serve([]);
    expect(await call(ECHO)).toBe('plain');
  });
  afterAll(() => {
    client.close();
  });

  /** Serves routes to `matched`, and after them one to `plain` for all other calls. */
  function serve(matches: readonly Json[]): void {
    const names = [...backends.keys()];
    // The last match keeps the cluster in use, so that new routes need nothing but themselves.
    const routes = [...matches, { path: '/never/called' }].map((match) => ({
      match,
      route: { cluster: 'matched' },
    }));
    mesh.serve({
      listeners: [listenerJson(SERVICE, 'routes')],
      routes: [routeConfigJson('routes', [...routes, routeToCluster('plain')])],
      clusters: names.map((name) => edsClusterJson(name)),
      endpoints: [...backends].map(([name, { port }]) =>
        endpointsJson(name, [{ zone: 'z', ports: [port] }]),
      ),
    });
  }

  /** Serves routes and waits for the verdict. @returns the client's words if it refused them. */
  async function offer(matches: readonly Json[]): Promise<string | undefined> {
    const read = () => mesh.controlPlane.clients()[0]?.types.get(routeKind.typeUrl);
    serve(matches);
    const verdict = await eventually(read, (type) => {
      const { sentVersion, ackedVersion, rejection } = type ?? {};
      const judged = rejection === undefined ? ackedVersion : rejection.version;
      return sentVersion !== undefined && judged === sentVersion;
    });
    return verdict?.rejection?.message;
  }

  /** Makes a call. @returns who answered it, or its status. */
  function call(path: string, header?: string): Promise<string> {
    const same = (buffer: Buffer) => buffer;
    const headers = new Metadata();
    if (header !== undefined) headers.set('x-text', header);
    return new Promise((resolve) => {
      client.makeUnaryRequest(path, same, same, Buffer.alloc(0), headers, (error, answer) => {
        resolve(error === null ? String(answer) : (status[error.code] ?? ''));
      });
    });
  }

  it('decides on a hostile header of 50 kB, with which a backtracking engine would not end', async () => {
    const inHeader = (regex: string) => ({
      prefix: '',
      headers: [{ name: 'x-text', safe_regex_match: { regex } }],
    });
    expect(await offer(HOSTILE.map(inHeader))).toBeUndefined();
    expect(await call(ECHO, matching)).toBe('matched');
    expect(await call(ECHO, nearlyMatching(SIZE))).toBe('plain');
  });

  it('decides on a hostile path of 50 kB, with which a backtracking engine would not end', async () => {
    const inPath = (regex: string) => ({ safe_regex: { regex: `/(x/)?${regex}` } });
    expect(await offer(HOSTILE.map(inPath))).toBeUndefined();
    // The backends were asked, and know no such method.
    expect(await call(`/${matching}`)).toBe('UNIMPLEMENTED');
    expect(await call(`/${nearlyMatching(SIZE)}`)).toBe('UNIMPLEMENTED');
  });

  describe('that is none', () => {
    const good = [{ safe_regex: { regex: '/test[.]Echo/.*' } }];
    const inPath = (regex: string) => ({ safe_regex: { regex } });
    const inHeader = (regex: string) => ({
      prefix: '',
      headers: [{ name: 'x', string_match: { safe_regex: { regex } } }],
    });
    const routes = 'virtual_hosts[0].routes';

    it.each([
      {
        match: inPath('(a'),
        field: `${routes}[1].match.safe_regex.regex`,
        reason: 'missing closing ): `(a`',
      },
      {
        match: inPath('/(?<=a)b'),
        field: `${routes}[1].match.safe_regex.regex`,
        reason: 'invalid named capture: `(?<=a)b`',
      },
      {
        match: inHeader(String.raw`(a)\1`),
        field: `${routes}[1].match.headers[0].string_match.safe_regex.regex`,
        reason: String.raw`invalid escape sequence: ` + '`' + String.raw`\1` + '`',
      },
      {
        match: inHeader('(a'.repeat(90)),
        field: `${routes}[1].match.headers[0].string_match.safe_regex.regex`,
        reason: `missing closing ): \`${'(a'.repeat(70)}…`,
      },
    ])('is refused by name, and changes nothing: $reason', async ({ match, field, reason }) => {
      expect(await offer(good)).toBeUndefined();
      expect(await call(ECHO)).toBe('matched');
      const rejection = await offer([...good, match]);
      expect(rejection).toBe(
        `RouteConfiguration "routes": ${field}: must be an RE2 expression: ${reason}`,
      );
      expect(await call(ECHO)).toBe('matched');
      expect(await offer([])).toBeUndefined();
      expect(await call(ECHO)).toBe('plain');
    });
  });
});
