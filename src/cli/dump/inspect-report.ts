import type { JsonObject } from '@bufbuild/protobuf';
import { clusterKind, endpointKind, listenerKind, routeKind } from '../../control-plane';
import { encodeJson } from '../../wire/proto-json/encode-json';
import { isJsonObject } from '../../wire/proto-json/explain-json';
import type { Dump, DumpedResource } from './dump';

/** The kinds of resources, by the names of types in reports. */
const kinds = new Map([
  ['Listener', listenerKind],
  ['RouteConfiguration', routeKind],
  ['Cluster', clusterKind],
  ['ClusterLoadAssignment', endpointKind],
]);

/**
 * Reads the report that `inspect()` returns and `dumpOnSignal()` writes.
 *
 * @param target The target whose resources are read. Default: all.
 * @returns `undefined` for another text.
 */
export function parseInspectReport(
  source: string,
  text: string,
  target: string | undefined,
): Dump | undefined {
  const report = parseJson(text);
  if (!isJsonObject(report) || report['schema'] !== 1) return undefined;
  const { targets } = report;
  if (!Array.isArray(targets)) return undefined;
  const chosen = targets
    .filter(isJsonObject)
    .filter((each) => target === undefined || each['target'] === target);
  const found = new Map<string, DumpedResource>();
  for (const { resources } of chosen) {
    for (const json of Array.isArray(resources) ? resources : []) {
      const resource = parseResource(json);
      if (resource !== undefined) found.set(`${resource.typeUrl} ${resource.name}`, resource);
    }
  }
  const nodeId = textOf(chosen[0]?.['nodeId']);
  return {
    source,
    nodeId,
    resources: [...found.values()],
    report: withoutContents(report, chosen),
  };
}

/** Returns the report of the chosen targets without the contents of resources, which a dump has in its lists. */
function withoutContents(report: JsonObject, chosen: readonly JsonObject[]): JsonObject {
  const targets = chosen.map(({ resources, ...target }) => ({
    ...target,
    resources: (Array.isArray(resources) ? resources : [])
      .filter(isJsonObject)
      .map(({ contents: _contents, ...resource }) => resource),
  }));
  return { ...report, targets };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // YAML, or not a report.
    return undefined;
  }
}

function parseResource(json: unknown): DumpedResource | undefined {
  if (!isJsonObject(json)) return undefined;
  const kind = kinds.get(textOf(json['type']));
  if (kind === undefined) return undefined;
  const { contents, failure, updatedAt } = json;
  const encoded = isJsonObject(contents)
    ? encodeJson(kind.messageName, contents, { ignoreUnknownFields: true })
    : undefined;
  return {
    ...{ typeUrl: kind.typeUrl, name: textOf(json['name']), status: textOf(json['status']) },
    version: textOf(json['version']),
    updated: typeof updatedAt === 'string' ? updatedAt : undefined,
    error: isJsonObject(failure) ? textOf(failure['details']) : missingContents(json, encoded),
    value: encoded?.ok === true ? encoded.value : undefined,
  };
}

/** Explains why an accepted resource has no value. */
function missingContents({ version, contents }: JsonObject, encoded: unknown): string | undefined {
  if (encoded !== undefined || version === undefined) return undefined;
  return typeof contents === 'string' ? contents : 'the report has no contents';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
