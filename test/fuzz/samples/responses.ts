import { edsClusterJson, endpointsJson, type Json } from '../../support/xds-json';
import { typedResources } from './resources';
import { TYPE } from './type-urls';

/** Names that a client may ask for. */
export const NAMES: readonly string[] = [
  'svc',
  'routes',
  'c',
  'd',
  'agg',
  'p1',
  'r1',
  'x',
  '',
  '__proto__',
];

const inWrapper: Json = {
  '@type': `${TYPE}/envoy.service.discovery.v3.Resource`,
  name: 'c',
  version: '3',
  aliases: ['d'],
  ttl: '5s',
  resource: typedResources[5],
};
const resourceErrors: readonly Json[] = [
  { resource_name: { name: 'e' }, error_detail: { code: 5, message: 'gone' } },
];

/** State-of-the-world responses of two resources each, in JSON, of one type and of several. */
export const responseSamples: readonly Json[] = [...typedResources, inWrapper].map(
  (resource, index) => ({
    version_info: '7',
    nonce: 'n',
    type_url: (index % 2 === 0 ? resource : typedResources[5])?.['@type'],
    resources: [resource, index % 3 === 0 ? inWrapper : (typedResources[index + 1] ?? inWrapper)],
    resource_errors: resourceErrors,
  }),
);

/** Incremental responses. */
export const deltaResponseSamples: readonly Json[] = typedResources.map((resource, index) => ({
  system_version_info: '7',
  nonce: 'n',
  type_url: resource['@type'],
  resources: [
    { name: NAMES[index % NAMES.length], version: '1', resource },
    { name: 'r1', version: '1', aliases: ['x'], ttl: '3s', resource: typedResources[index + 1] },
  ],
  removed_resources: ['x', 'y'],
  removed_resource_names: [{ name: 'z' }],
  resource_errors: resourceErrors,
}));

/** Files of resources and answers of REST servers, in JSON. */
export const documentSamples: readonly Json[] = [
  ...typedResources.map((resource) => ({ version_info: '1', resources: [resource] })),
  { resources: [inWrapper], resource_errors: resourceErrors },
  { clusters: [edsClusterJson('c')], endpoints: [endpointsJson('c', [{ zone: 'a', ports: [1] }])] },
];
