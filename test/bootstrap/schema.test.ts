import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import type { BootstrapConfig, ManagementServerConfig } from '../../src/bootstrap/bootstrap-config';

type Json = Record<string, unknown>;

const schema = JSON.parse(
  readFileSync(join(__dirname, '../../schemas/bootstrap.json'), 'utf8'),
) as { readonly properties: Json; readonly definitions: { readonly server: { properties: Json } } };
const validate = new Ajv({ strictTypes: false, strictRequired: false }).compile(schema);

const support = {
  channelCreds: new Set(['google_default', 'insecure', 'tls']),
  callCreds: new Set(['jwt_token_file']),
  certificateProviders: new Set(['file_watcher']),
};
const insecure = { channel_creds: [{ type: 'insecure' }] };
const server = { server_uri: 'xds.test:443', ...insecure };

/** A bootstrap with one server, with changes to either. */
const withServer = (changes: Json): Json => ({ xds_servers: [{ ...server, ...changes }] });
const with_ = (changes: Json): Json => ({ xds_servers: [server], ...changes });
const without = (key: keyof typeof server): Json => ({
  xds_servers: [Object.fromEntries(Object.entries(server).filter(([name]) => name !== key))],
});

const VALID: Readonly<Record<string, unknown>> = {
  minimal: with_({}),
  'with its schema': with_({ $schema: './bootstrap.json' }),
  'with unknown keys': with_({ x: 1, xds_servers: [{ ...server, y: {} }] }),
  'with null for optional keys': with_({
    node: null,
    authorities: null,
    certificate_providers: null,
    client_default_listener_resource_name_template: null,
    server_listener_resource_name_template: null,
  }),
  'a template for servers': with_({ server_listener_resource_name_template: 'in/%s' }),
  'a whole node': with_({
    node: {
      id: 'a',
      cluster: 'b',
      locality: { region: 'r', zone: 'z', sub_zone: 's' },
      metadata: { A: [1, { b: null }] },
      user_agent_name: 7,
    },
  }),
  'a node of nulls': with_({ node: { id: null, cluster: null, locality: null, metadata: null } }),
  'a locality in camelCase': with_({ node: { locality: { subZone: 's' } } }),
  'server features': withServer({ server_features: ['xds_v3', 'other', 7] }),
  'credentials with configs': withServer({
    channel_creds: [{ type: 'tls', config: { ca_certificate_file: '/ca.pem' } }],
    call_creds: [
      { type: 'other', config: 'anything' },
      { type: 'jwt_token_file', config: { jwt_token_file: '/t' } },
    ],
  }),
  'a file without credentials': { xds_servers: [{ server_uri: 'file:///etc/xds.yaml' }] },
  'http with durations': {
    xds_servers: [
      {
        server_uri: 'HTTPS://xds.test/v3',
        refresh_delay: '0.5s',
        request_timeout: '10s',
        ignore_unknown_fields: true,
      },
    ],
  },
  'durations that are not read': withServer({ refresh_delay: 7 }),
  'an authority': with_({ authorities: { 'a.test': {}, 'b.test': { xds_servers: [] } } }),
  'a whole authority': with_({
    authorities: {
      a: {
        xds_servers: [server],
        client_listener_resource_name_template: 'xdstp://a/l/%s',
        fallback_on_reachability_only: true,
      },
    },
  }),
  'certificate providers': with_({
    certificate_providers: {
      a: { plugin_name: 'file_watcher', config: { certificate_file: '/c.pem' } },
      b: { plugin_name: 'unknown' },
      c: null,
    },
  }),
};

const INVALID: Readonly<Record<string, unknown>> = {
  'a list': [],
  text: '',
  'an empty object': {},
  'servers that are an object': { xds_servers: {} },
  'no server': { xds_servers: [] },
  'a server that is text': { xds_servers: ['xds.test:443'] },
  'a server without a URI': without('server_uri'),
  'a server without credentials': without('channel_creds'),
  'credentials of null': withServer({ channel_creds: null }),
  'an empty URI': withServer({ server_uri: '' }),
  'a URI that is a number': withServer({ server_uri: 7 }),
  'an xds: URI': withServer({ server_uri: 'xds:///x' }),
  'no credentials': withServer({ channel_creds: [] }),
  'credentials without a type': withServer({ channel_creds: [{}] }),
  'credentials of an empty type': withServer({ channel_creds: [{ type: '' }] }),
  'credentials that are text': withServer({ channel_creds: ['insecure'] }),
  'call credentials that are no list': withServer({ call_creds: {} }),
  'features that are no list': withServer({ server_features: 'xds_v3' }),
  'a config that is a list': withServer({ channel_creds: [{ type: 'tls', config: [] }] }),
  'a delay of zero': { xds_servers: [{ server_uri: 'http://xds.test', refresh_delay: '0s' }] },
  'a delay without a unit': { xds_servers: [{ server_uri: 'http://x.test', refresh_delay: '5' }] },
  'a flag that is text': {
    xds_servers: [{ server_uri: 'http://x.test', ignore_unknown_fields: 'true' }],
  },
  'a node that is text': with_({ node: 'a' }),
  'an id that is a number': with_({ node: { id: 7 } }),
  'a locality that is text': with_({ node: { locality: 'eu' } }),
  'metadata that are a list': with_({ node: { metadata: [] } }),
  'authorities that are a list': with_({ authorities: [] }),
  'an authority that is text': with_({ authorities: { a: 'x' } }),
  'a template of no authority': with_({
    authorities: { a: { client_listener_resource_name_template: 'l/%s' } },
  }),
  'a server of an authority without a URI': with_({ authorities: { a: without('server_uri') } }),
  'an empty template': with_({ client_default_listener_resource_name_template: '' }),
  'an empty template for servers': with_({ server_listener_resource_name_template: '' }),
  'a template for servers that is a number': with_({ server_listener_resource_name_template: 7 }),
  'a provider without a plugin': with_({ certificate_providers: { a: { config: {} } } }),
  'a provider with a config of text': with_({
    certificate_providers: { a: { plugin_name: 'file_watcher', config: 'x' } },
  }),
};

describe('schemas/bootstrap.json', () => {
  it.each(Object.entries(VALID))('accepts what the parser accepts: %s', (_name, json) => {
    const parsed = parseBootstrap(json, 'test', support);
    expect(parsed).toMatchObject({ ok: true });
    validate(json);
    expect(validate.errors ?? []).toEqual([]);
  });

  it.each(Object.entries(INVALID))('rejects what the parser rejects: %s', (_name, json) => {
    expect(parseBootstrap(json, 'test', support).ok).toBe(false);
    expect(validate(json)).toBe(false);
  });

  it('has the keys of the type BootstrapConfig', () => {
    const top: Record<keyof BootstrapConfig, true> = {
      $schema: true,
      xds_servers: true,
      node: true,
      authorities: true,
      certificate_providers: true,
      allowed_grpc_services: true,
      client_default_listener_resource_name_template: true,
      server_listener_resource_name_template: true,
    };
    const ofServer: Record<keyof ManagementServerConfig, true> = {
      server_uri: true,
      channel_creds: true,
      call_creds: true,
      server_features: true,
      refresh_delay: true,
      request_timeout: true,
      ignore_unknown_fields: true,
    };
    expect(Object.keys(schema.properties).sort()).toEqual(Object.keys(top).sort());
    expect(Object.keys(schema.definitions.server.properties).sort()).toEqual(
      Object.keys(ofServer).sort(),
    );
  });
});
