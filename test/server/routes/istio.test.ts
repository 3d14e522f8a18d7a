import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Status } from '../../../src/grpc-js';
import { withUri } from '../../authorization/rbac-world';
import type { Json } from '../../support/xds-json';
import { judge, ServerScene } from './tables';

/** Istiod's encoder writes a wrapper such as `UInt32Value`, and an Any of an unknown type, as messages. */
const unwrap = (_key: string, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if ('type_url' in value)
    return { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' };
  return 'value' in value && Object.keys(value).length === 1 ? value.value : value;
};

function listenerOf(scene: ServerScene, name: string) {
  const path = join(__dirname, '..', '..', 'fixtures', 'istiod', `inbound-${name}.json`);
  const [listener] = JSON.parse(readFileSync(path, 'utf8'), unwrap) as readonly Json[];
  const fields = Object.entries(listener ?? {}).filter(([name]) => name !== '@type');
  return scene.parse(Object.fromEntries(fields));
}

describe('the inline routes of istiod', () => {
  const tls = withUri('spiffe://cluster.local/ns/default/sa/client');
  const gold = {
    headers: { 'x-tier': 'gold' },
    remote: { address: '10.9.0.9', port: 40_000 },
    tls,
  };

  it.each(['strict', 'plaintext', 'policies', 'sources', 'audit'])(
    'of inbound-%s have every host and path, and none fails for its action',
    (name) => {
      const scene = new ServerScene();
      const table = scene.tableOf(listenerOf(scene, name));
      expect(table.problem).toBeUndefined();
      const refusal = judge(table, '/bench.Echo/Echo', 'echo.default.svc:7070', gold);
      // Sources of another kind are allowed only.
      expect(refusal?.code).toBe(name === 'sources' ? Status.PERMISSION_DENIED : undefined);
    },
  );

  it('are judged by the policies that istiod puts before them', () => {
    const scene = new ServerScene();
    const table = scene.tableOf(listenerOf(scene, 'policies'));
    expect(judge(table, '/bench.Echo/Echo', 'any.host', gold)).toBeUndefined();
    expect(judge(table, '/bench.Echo/Echo', 'any.host', { ...gold, headers: {} })).toMatchObject({
      code: Status.PERMISSION_DENIED,
      details: 'unauthorized RPC request rejected',
    });
  });
});
