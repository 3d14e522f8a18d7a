import type { SavedSnapshotConfig } from '../../bootstrap/bootstrap';
import { Resource } from '../../generated/envoy/service/discovery/v3/discovery';
import type { Clock } from '../../util/clock';
import type { Logger } from '../../util/logger';
import { readRegularFile } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import type { XdsTransport } from '../../xds-client/transport';
import { canonicalName, type FileResource } from '../file/file-resource';
import { FileStream } from '../file/file-stream';
import type { ResourceContent } from '../file/resource-content';
import {
  decodeSnapshot,
  MAX_SNAPSHOT_BYTES,
  type SavedResource,
  type SavedSnapshot,
} from './snapshot-file';

const WRAPPER_URL = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/** What the transport needs. */
export interface SnapshotTransportOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The resources of an earlier run in the place of a server that cannot be reached. They are read once, and their
 * version says that they are stale, and of when.
 *
 * @returns the transport, or why there is nothing to be had.
 */
export function createSnapshotTransport(
  { path, identity }: SavedSnapshotConfig,
  { clock, logger }: SnapshotTransportOptions,
): Result<XdsTransport, string> {
  const snapshot = readSnapshot(path, identity);
  if (!snapshot.ok) return snapshot;
  const content = toContent(snapshot.value);
  const streams = new Set<FileStream>();
  const { resources, savedAtMs } = snapshot.value;
  const savedAt = new Date(savedAtMs).toISOString();
  logger.info(() => `${resources.length} resources saved at ${savedAt} are used from ${path}`);
  return ok({
    openStream(_method, handler) {
      const onEnd = (stream: FileStream) => streams.delete(stream);
      const stream = new FileStream({ path, handler, clock, logger, onEnd });
      streams.add(stream);
      stream.update(content);
      return stream;
    },
    close() {
      for (const stream of streams) stream.close();
    },
  });
}

function readSnapshot(path: string, identity: string): Result<SavedSnapshot, string> {
  const content = readRegularFile(path, { maxBytes: MAX_SNAPSHOT_BYTES, isPrivate: true });
  if (!content.ok) return content;
  const snapshot = decodeSnapshot(content.value, identity);
  return snapshot.ok ? snapshot : err(`the file ${snapshot.error}`);
}

function toContent({ savedAtMs, resources }: SavedSnapshot): ResourceContent {
  const version = `stale, saved at ${new Date(savedAtMs).toISOString()}`;
  const byType = new Map<string, FileResource[]>();
  for (const resource of resources) {
    const ofType = byType.get(resource.typeUrl) ?? [];
    ofType.push(toFileResource(resource));
    byType.set(resource.typeUrl, ofType);
  }
  return new Map(
    [...byType].map(([typeUrl, list]) => [
      typeUrl,
      { version, fingerprint: version, resources: list },
    ]),
  );
}

/** With its name beside it, because not every resource has one inside. */
function toFileResource({ typeUrl, name, bytes: value }: SavedResource): FileResource {
  const wrapper = Resource.fromPartial({ name, resource: { typeUrl, value } });
  const item = { typeUrl: WRAPPER_URL, value: Resource.encode(wrapper).finish() };
  return { typeUrl, name: canonicalName(name, typeUrl), item };
}
