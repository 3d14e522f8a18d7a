import { Metadata, status } from '@grpc/grpc-js';
import { routeKind } from '../../src/control-plane';
import type { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, useSharedMesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

jest.setTimeout(30_000);

describe('the default limits of regular expressions', () => {
  const mesh = useSharedMesh();
  let client: EchoClient;
  let port: number;

  beforeAll(async () => {
    ({ port } = await mesh.backend('echo'));
    serve([]);
    client = mesh.client();
    expect(await client.say()).toBe('echo');
  });

  /** Serves routes for patterns of the header `x-text`, and one for all other calls. */
  function serve(patterns: readonly string[]): void {
    const routes = patterns.map((regex) => ({
      match: { prefix: '', headers: [{ name: 'x-text', safe_regex_match: { regex } }] },
      route: { cluster: 'echo' },
    }));
    mesh.serve({
      listeners: [listenerJson(SERVICE, 'routes')],
      routes: [routeConfigJson('routes', [...routes, routeToCluster('echo')])],
      clusters: [edsClusterJson('echo')],
      endpoints: [endpointsJson('echo', [{ zone: 'z', ports: [port] }])],
    });
  }

  async function untilAnswered(): Promise<string | undefined> {
    const read = () => mesh.controlPlane.clients()[0]?.types.get(routeKind.typeUrl);
    const type = await eventually(read, (current) => {
      const { sentVersion, ackedVersion, rejection } = current ?? {};
      const answered = rejection === undefined ? ackedVersion : rejection.version;
      return sentVersion !== undefined && answered === sentVersion;
    });
    return type?.rejection?.message;
  }

  const withText = (length: number) => {
    const metadata = new Metadata();
    metadata.set('x-text', 'x'.repeat(length));
    return { metadata };
  };

  it('reject 1,000 patterns that repeat a Unicode class 1,000 times, and keep the last routes', async () => {
    serve(Array.from({ length: 1000 }, (_, i) => `(?:\\pL{0,1000}|[^x])y${i}`));
    expect(await untilAnswered()).toContain(
      'RouteConfiguration "routes": virtual_hosts[0].routes[0].match.headers[0]' +
        '.safe_regex_match.regex: expression of size 752027 exceeds the limit maxRegexSize of 10000',
    );
    expect(await client.say(withText(2000))).toBe('echo');
  });

  it('fail a call whose route takes too many steps to find, and no other call', async () => {
    serve(Array.from({ length: 400 }, (_, i) => `.*[a${i}]y`));
    expect(await untilAnswered()).toBeUndefined();
    expect(await client.say(withText(100))).toBe('echo');
    expect(await client.failure(withText(6000))).toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringMatching(
        /^The route of xds:.* for \/.* cannot be determined: matching the regular expressions takes more than 2500000 steps \(limit maxRegexStepsPerCall\), at "\.\*\[a\d+]y" and a text of 6000 characters/,
      ),
    });
    expect(await client.say()).toBe('echo');
  });
});
