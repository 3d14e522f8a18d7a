import { registerAuditLogger, type AuditEvent, type AuditLogger } from '../../src/server';
import { routerFilter, type Json } from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  openStream,
  serverChain,
  useServerWorld,
} from '../support/xds-server-world';

const TYPE = 'type.googleapis.com';
const world = useServerWorld();
const events: (AuditEvent & { readonly by: unknown })[] = [];

beforeAll(() => {
  registerAuditLogger({
    name: 'test.audit',
    parseConfig: ({ label }) => label,
    create: (by) => ({ log: (event) => void events.push({ ...event, by }) }),
  });
  registerAuditLogger({
    name: 'test.broken',
    parseConfig: ({ how }) => how,
    create: (how): AuditLogger => {
      if (how === 'create') throw new Error('of the application');
      const log = (): unknown => {
        if (how === 'throw') throw new Error('of the application');
        return Promise.reject(new Error('of the application'));
      };
      return { log: log };
    },
  });
});

beforeEach(() => {
  events.length = 0;
});

const logger = (name: string, value: Json, extra: Json = {}): Json => ({
  audit_logger: {
    name,
    typed_config: {
      '@type': `${TYPE}/xds.type.v3.TypedStruct`,
      type_url: `${TYPE}/${name}`,
      value,
    },
  },
  ...extra,
});

/** An RBAC filter that allows or denies the method Say, with audits. */
const filter = (name: string, action: string, audit_condition: string): Json => ({
  name,
  typed_config: {
    '@type': `${TYPE}/envoy.extensions.filters.http.rbac.v3.RBAC`,
    rules: {
      action,
      policies: {
        say: {
          permissions: [{ url_path: { path: { exact: '/test.Echo/Say' } } }],
          principals: [{ any: true }],
        },
      },
      audit_logging_options: {
        audit_condition,
        logger_configs: [
          ...['create', 'throw', 'reject'].map((how) => logger('test.broken', { how })),
          logger('test.unknown', {}, { is_optional: true }),
          logger('test.audit', { label: audit_condition }),
        ],
      },
    },
  },
});

it('each filter audits the decisions that its condition selects; loggers that fail change nothing', async () => {
  const http_filters = [
    filter('first', 'ALLOW', 'ON_ALLOW'),
    filter('second', 'ALLOW', 'ON_DENY'),
    filter('third', 'DENY', 'ON_DENY_AND_ALLOW'),
    filter('last', 'DENY', 'NONE'),
    routerFilter,
  ];
  world.serve([world.listener([serverChain({ ...inlineRoutes(), http_filters })])]);
  await world.bind(world.server());
  const client = world.client();
  expect(await callServer(client)).toMatch(/^PERMISSION_DENIED/);
  const said = { rpcMethod: '/test.Echo/Say', principal: '' };
  expect(events.splice(0)).toEqual([
    { ...said, policyName: 'first', matchedRule: 'say', authorized: true, by: 'ON_ALLOW' },
    {
      ...said,
      policyName: 'third',
      matchedRule: 'say',
      authorized: false,
      by: 'ON_DENY_AND_ALLOW',
    },
  ]);
  const stream = openStream(client);
  await new Promise((resolve) => stream.once('error', resolve));
  // The first filter denies it, and audits what it allows only.
  expect(events).toEqual([]);
  expect(world.calls).toBe(0);
});
