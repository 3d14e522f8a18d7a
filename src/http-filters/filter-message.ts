import { decodeMessage, type MessageDecoder } from '../resources/shared/any';
import type { ExtensionConfig } from '../resources/shared/extension-parser';
import type { Violations } from '../util/violations';

/** Decodes the config of a filter that is configured by a message. @returns `undefined` after adding a violation. */
export function decodeFilterMessage<T>(
  config: ExtensionConfig,
  decoder: MessageDecoder<T>,
  violations: Violations,
): T | undefined {
  if (config.kind === 'message') return decodeMessage(decoder, config.bytes, violations);
  violations.add(`must be a ${config.typeName} itself, not a TypedStruct that stands for one`);
  return undefined;
}
