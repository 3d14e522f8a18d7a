import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import { prepareClient } from '../../src/runtime/examine/client-parts';
import { FakeIo } from '../cli/fake-io';
import type { Sample } from './pages';

/** Names that only an application registers: pages show how. */
const OF_APPLICATIONS = /acme[._]/;

const ROUTER = {
  name: 'router',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
};

/** Whether a sample is a text in JSON or YAML. */
export function isData({ language }: Sample): boolean {
  return ['json', 'yaml'].includes(language);
}

/**
 * Returns what is wrong with a sample in JSON or YAML, as a text, a bootstrap or a resource, each as `file:line: text`.
 * A sample with the word `invalid` must have a fault.
 */
export async function faultsOfData(sample: Sample): Promise<readonly string[]> {
  const faults = await faultsOfText(sample);
  if (sample.words.includes('invalid')) {
    return faults.length > 0 ? [] : [`${sample.page}:${sample.line}: the client accepts it`];
  }
  return faults.map((fault) => `${sample.page}:${sample.line}: ${fault}`);
}

async function faultsOfText({ text, language }: Sample): Promise<readonly string[]> {
  const documents = parseAllDocuments(text);
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) return errors.map(({ message }) => message);
  if (language === 'json') JSON.parse(text);
  const values = documents.map((document): unknown => document.toJS());
  return (await Promise.all(values.map(faultsOfValue))).flat();
}

async function faultsOfValue(value: unknown): Promise<readonly string[]> {
  if (!isObject(value)) return [];
  if ('apiVersion' in value) return faultsOfConfigMap(value['data']);
  if ('xds_servers' in value || 'certificate_providers' in value) return faultsOfBootstrap(value);
  const resources = resourcesOf(value);
  return resources === undefined ? [] : faultsOfResources(resources);
}

/** The files in a ConfigMap of Kubernetes; other objects have none. */
async function faultsOfConfigMap(data: unknown): Promise<readonly string[]> {
  const texts = Object.values(isObject(data) ? data : {}).map(String);
  const values = texts.map((text): unknown => parseAllDocuments(text)[0]?.toJS());
  return (await Promise.all(values.map(faultsOfValue))).flat();
}

function faultsOfBootstrap(value: Readonly<Record<string, unknown>>): readonly string[] {
  const server = { server_uri: 'file:///resources.yaml' };
  const whole = { xds_servers: [server], ...value };
  const { support } = prepareClient(new FakeIo()).access;
  const channelCreds = new Set([...support.channelCreds.keys(), 'google_default', 'acme_vault']);
  const parsed = parseBootstrap(whole, 'sample', { ...support, channelCreds });
  return parsed.ok ? (parsed.value.warnings ?? []) : parsed.error;
}

/** Members of a cluster that pages show alone. */
const OF_A_CLUSTER = ['load_balancing_policy', 'transport_socket', 'metadata'];

/** The resource file that a sample is, or that a part of a resource is completed to. */
function resourcesOf(value: Readonly<Record<string, unknown>>): object | undefined {
  const lists = ['resources', 'listeners', 'routes', 'route_configs', 'clusters', 'endpoints'];
  if (lists.some((name) => Array.isArray(value[name]))) return value;
  if (OF_A_CLUSTER.some((name) => name in value)) {
    const eds_cluster_config = { eds_config: { ads: {} } };
    return { clusters: [{ name: 'sample', type: 'EDS', eds_cluster_config, ...value }] };
  }
  if (!Array.isArray(value['http_filters'])) return undefined;
  const api_listener = {
    '@type':
      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    rds: { config_source: { ads: {} }, route_config_name: 'sample' },
    http_filters: [...value['http_filters'], ROUTER],
  };
  return { listeners: [{ name: 'sample', api_listener: { api_listener } }] };
}

/** Runs `grpc-xds check`. */
async function faultsOfResources(value: object): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-sample-'));
  const file = join(folder, 'sample.json');
  writeFileSync(file, JSON.stringify(value));
  const io = new FakeIo();
  // The pages show filters that are off by default, too.
  io.env = { GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT: 'true' };
  const code = await io.run('check', '--allow-inconsistent', file);
  rmSync(folder, { recursive: true });
  return code === 0 ? [] : io.errors.filter((line) => !OF_APPLICATIONS.test(line));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
