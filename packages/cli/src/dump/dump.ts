import { findResourceKind, type Snapshot } from 'grpc-xds/control-plane';
import { decodeToJson, hasMessage } from 'grpc-xds/internal';
import { errorMessage } from '../../../../src/util/errors';
import { formatTable } from '../io';
import { kindsOf, titleOf } from '../output';

/** A version that the client has rejected. The one before it stays in use. */
export interface RejectedVersion {
  /** Empty if the source does not say. */
  readonly version: string;
  readonly at: string | undefined;
}

/** The state of a resource, as in CSDS (gRFC A40). */
export interface DumpedResource {
  readonly typeUrl: string;
  readonly name: string;
  /** Such as `ACKED`; empty for a resource of a file. */
  readonly status: string;
  readonly version: string;
  /** When the version was accepted, as ISO 8601. */
  readonly updated?: string | undefined;
  /** Why the last version was rejected, or the resource is missing. */
  readonly error?: string | undefined;
  /** The version that was rejected, and when, as ISO 8601. */
  readonly rejected?: RejectedVersion | undefined;
  /** The accepted resource. */
  readonly value: Uint8Array | undefined;
}

/** Whether a resource was accepted, or is of a file. */
export function hasValue(
  resource: DumpedResource,
): resource is DumpedResource & { readonly value: Uint8Array } {
  return resource.value !== undefined;
}

/** The resources that a client, a control plane or a file has. */
export interface Dump {
  /** Where they are from. */
  readonly source: string;
  readonly nodeId?: string;
  readonly resources: readonly DumpedResource[];
  /** What else the report of a process has, such as the states of endpoints. */
  readonly report?: object;
}

/** Returns the resources of a snapshot. @param report What else the file has. */
export function dumpSnapshot(source: string, snapshot: Snapshot, report?: object): Dump {
  const resources = snapshot.kinds().flatMap((kind) =>
    [...snapshot.set(kind).byName.values()].map(({ name, version, value }) => ({
      typeUrl: kind.typeUrl,
      name,
      status: '',
      version,
      value,
    })),
  );
  return { source, resources, ...(report && { report }) };
}

/** Writes an encoded resource as JSON. @returns the JSON, or an error text. */
export function resourceToJson({ typeUrl, value }: DumpedResource): unknown {
  if (value === undefined) return undefined;
  const messageName = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  if (!hasMessage(messageName)) return { error: `no schema of ${messageName}` };
  try {
    return decodeToJson(messageName, value);
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

/** Writes a dump as a resource file, which `serve` and `check` read; the states of the resources are in `x-dump`. */
export function toResourceFile({ source, nodeId, resources, report }: Dump): object {
  const states = resources.map(({ typeUrl, value: _value, ...state }) => ({
    type: labelOf(typeUrl),
    ...state,
  }));
  const listed = kindsOf().map((kind) => {
    const own = resources.filter(
      ({ typeUrl, value }) => typeUrl === kind.typeUrl && value !== undefined,
    );
    return [titleOf(kind), own.map(resourceToJson)] as const;
  });
  return {
    'x-dump': { source, node: nodeId, resources: states },
    ...(report && { 'x-report': report }),
    ...Object.fromEntries(listed),
  };
}

/** Formats a row for each resource, and the error of each below the rows. */
export function formatDump({ resources }: Dump): readonly string[] {
  const rows = resources.map(({ typeUrl, name, status, version, updated, value }) => [
    labelOf(typeUrl),
    name,
    status || '-',
    version || '-',
    updated ?? '-',
    value?.length ?? 0,
  ]);
  const table = formatTable(['type', 'name', 'status', 'version', 'updated', 'bytes'], rows);
  const errors = resources.flatMap(({ typeUrl, name, error, rejected }) =>
    error === undefined
      ? []
      : [`${labelOf(typeUrl)} ${JSON.stringify(name)}: ${formatRejected(rejected)}${error}`],
  );
  return errors.length === 0 ? table : [...table, '', ...errors];
}

function formatRejected(rejected: RejectedVersion | undefined): string {
  if (rejected === undefined) return '';
  const { version, at } = rejected;
  const words = ['rejected', ...(version === '' ? [] : ['version', version])];
  if (at !== undefined) words.push('at', at);
  return `${words.join(' ')}: `;
}

/** Returns the word for a type, such as `cluster`. A message may have none. */
export function labelOf(typeUrl: string): string {
  if (typeUrl === '') return 'no type';
  return findResourceKind(typeUrl)?.label ?? typeUrl.slice(typeUrl.lastIndexOf('.') + 1);
}
