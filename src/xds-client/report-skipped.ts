import type { Logger } from '../util/logger';
import type { ChannelResource } from './channel-resource';
import type { Accepted } from './resource-state';
import { describeResource } from './xds-errors';

/**
 * Logs what is not used of a resource that is about to be accepted, once per value: as an error when it differs
 * from what is skipped already, because nothing less is shown by default.
 */
export function reportSkipped(
  { type, id, accepted: before }: ChannelResource,
  next: Accepted<unknown>,
  logger: Logger,
): void {
  if (next.value === before?.value) return;
  const skipped = type.describeSkipped?.(next.value);
  if (skipped === undefined) return;
  const text = () => `${describeResource(id)}: version "${next.version}": ${skipped}`;
  const known = before && type.describeSkipped?.(before.value);
  if (skipped === known) logger.info(text);
  else logger.error(text);
}
