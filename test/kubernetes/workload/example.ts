import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { listAt, valueAt } from '../../../src/util/value-at';
import type { ApiObject } from '../cluster/api-client';

/** The folder of the manifests for users. */
export const EXAMPLE = join(__dirname, '../../../examples/kubernetes');

/** Reads the objects of a file of the example. */
export function readExample(name: string): readonly ApiObject[] {
  const text = readFileSync(join(EXAMPLE, name), 'utf8');
  return parseAllDocuments(text).map((document) => document.toJS() as ApiObject);
}

/** Returns the specification of the pods of a Deployment. */
export function podOf(objects: readonly ApiObject[], deployment: string): unknown {
  const found = objects.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === deployment,
  );
  if (found === undefined) throw new Error(`no Deployment ${deployment}`);
  return valueAt(found, 'spec', 'template', 'spec');
}

/**
 * Returns the bootstrap of a pod of a Deployment, with references to variables replaced as the kubelet does.
 *
 * @param known What is known only of a pod: variables of the downward API.
 */
export function bootstrapOfPod(
  objects: readonly ApiObject[],
  deployment: string,
  known: Readonly<Record<string, string>>,
): string {
  const [container] = listAt(podOf(objects, deployment), 'containers');
  const values = new Map(
    Object.entries({ POD_NAME: `${deployment}-1`, POD_NAMESPACE: 'shop', ...known }),
  );
  for (const variable of listAt(container, 'env')) {
    const name = String(valueAt(variable, 'name'));
    const reference = valueAt(variable, 'valueFrom', 'configMapKeyRef');
    const value =
      reference === undefined
        ? valueAt(variable, 'value')
        : dataOf(objects, valueAt(reference, 'name'), valueAt(reference, 'key'));
    if (typeof value !== 'string') continue;
    // A variable that is not there stays as it is written.
    values.set(
      name,
      value.replace(/\$\((\w+)\)/g, (all, key: string) => values.get(key) ?? all),
    );
  }
  return values.get('GRPC_XDS_BOOTSTRAP_CONFIG') ?? '';
}

/** Returns a member of a ConfigMap. */
function dataOf(objects: readonly ApiObject[], name: unknown, key: unknown): unknown {
  const map = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  return valueAt(map, 'data', String(key));
}
