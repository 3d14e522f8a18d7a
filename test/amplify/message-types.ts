import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { MessageType } from '../../src/wire/protobuf/field-table';
import { MessageCodec } from '../../src/wire/protobuf/message-codec';

const GENERATED = join(__dirname, '../../src/wire/generated');
/** Tables and assets, which are no messages. */
const NOT_MESSAGES = ['descriptor-set.ts', 'page-assets.ts'];

/** All types of messages in the generated code, by their full name. */
export function loadMessageTypes(): ReadonlyMap<string, MessageType> {
  const types = new Map<string, MessageType>();
  for (const file of readdirSync(GENERATED, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || NOT_MESSAGES.includes(file)) continue;
    const packageName = file.split(sep).slice(0, -1).join('.');
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- the files are found at run time
    const exports: unknown = require(join(GENERATED, file));
    for (const [name, value] of Object.entries(exports ?? {})) {
      if (value instanceof MessageCodec)
        types.set(`${packageName}.${name.replaceAll('_', '.')}`, value);
    }
  }
  return types;
}
