import type { NodeConfig } from '../../src/bootstrap/bootstrap';
import type { JsonValue } from '../../src/util/json-fields';
import { Node } from '../../src/wire/generated/envoy/config/core/v3/base';
import { createNode } from '../../src/xds-client/management-servers';

const USER_AGENT = { name: 'agent', version: '1.2' };

function roundTrip(config: NodeConfig): Node {
  return Node.decode(Node.encode(createNode(config, USER_AGENT)).finish());
}

describe('createNode', () => {
  it('carries the identity of the bootstrap, the user agent and the client features', () => {
    const locality = { region: 'r', zone: 'z', subZone: 's' };
    expect(roundTrip({ id: 'n', cluster: 'c', locality, metadata: undefined })).toEqual({
      id: 'n',
      cluster: 'c',
      locality,
      metadata: undefined,
      userAgentName: 'agent',
      userAgentVersionType: { $case: 'userAgentVersion', value: '1.2' },
      clientFeatures: [
        'envoy.lb.does_not_support_overprovisioning',
        'xds.config.resource-in-sotw',
        'xds.config.supports-resource-in-sotw',
        'xds.config.supports-resource-ttl',
      ],
    });
  });

  it('says what else the client can do', () => {
    const config = { id: 'n', cluster: '', locality: undefined, metadata: undefined };
    const { clientFeatures } = createNode(config, { name: 'a', version: '1' }, ['more']);
    expect(clientFeatures.at(-1)).toBe('more');
    expect(clientFeatures).toContain('xds.config.resource-in-sotw');
  });

  it('leaves out what the bootstrap leaves out', () => {
    const node = roundTrip({ id: '', cluster: '', locality: undefined, metadata: undefined });
    expect(node).toMatchObject({ id: '', cluster: '', locality: undefined, metadata: undefined });
  });

  it('passes every kind of metadata on, under any name', () => {
    // JSON.parse makes members of its own of these names, as reading a bootstrap does.
    const inner: JsonValue = JSON.parse('{"__proto__": {"x": 1}, "constructor": "y"}');
    const metadata = new Map<string, JsonValue>([
      ['__proto__', 'text'],
      ['nested', inner],
      ['list', [null, true, -0.5, 'a', []]],
    ]);
    const fields = roundTrip({ id: 'n', cluster: '', locality: undefined, metadata }).metadata
      ?.fields;
    expect(fields?.get('__proto__')).toEqual({ kind: { $case: 'stringValue', value: 'text' } });
    expect(fields?.get('nested')).toEqual({
      kind: {
        $case: 'structValue',
        value: {
          fields: new Map([
            [
              '__proto__',
              {
                kind: {
                  $case: 'structValue',
                  value: {
                    fields: new Map([['x', { kind: { $case: 'numberValue', value: 1 } }]]),
                  },
                },
              },
            ],
            ['constructor', { kind: { $case: 'stringValue', value: 'y' } }],
          ]),
        },
      },
    });
    expect(fields?.get('list')).toEqual({
      kind: {
        $case: 'listValue',
        value: {
          values: [
            { kind: { $case: 'nullValue', value: 0 } },
            { kind: { $case: 'boolValue', value: true } },
            { kind: { $case: 'numberValue', value: -0.5 } },
            { kind: { $case: 'stringValue', value: 'a' } },
            { kind: { $case: 'listValue', value: { values: [] } } },
          ],
        },
      },
    });
  });
});
