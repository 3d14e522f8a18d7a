import { loadResourceFile, type Snapshot } from '../../control-plane';
import { type CliIo, formatSnapshot } from '../output';
import type * as Decoders from '../client-decoders';

/** Flags of every command that reads a resource file. */
export interface FileFlags {
  /** Accept references to resources the file does not have. */
  readonly allowInconsistent?: boolean;
  /** Skip fields the schema does not have. */
  readonly ignoreUnknownFields?: boolean;
}

/**
 * Reads a resource file and prints its content or its errors: why the management server cannot serve it, and otherwise
 * the violations for which clients reject resources.
 *
 * @returns the exit code.
 */
export function check(file: string, flags: FileFlags, io: CliIo): number {
  const snapshot = loadResourceFile(file, flags);
  if (!snapshot.ok) {
    io.printError(snapshot.error.message);
    return 1;
  }
  const rejections = findRejections(snapshot.value);
  for (const rejection of rejections) io.printError(`${file}: ${rejection}`);
  if (rejections.length > 0) return 1;
  io.print(`${file} is good:`);
  for (const line of formatSnapshot(snapshot.value)) io.print(line);
  return 0;
}

/** Lists the violations for which clients reject resources. */
function findRejections(snapshot: Snapshot): readonly string[] {
  const judge = loadDecoders().createResourceJudge();
  return snapshot.kinds().flatMap((kind) =>
    [...snapshot.set(kind).byName.values()].flatMap(({ name, value }) => {
      const violations = judge({ typeUrl: kind.typeUrl, name, value });
      const subject = `${kind.label} ${JSON.stringify(name)}: clients reject it (NACK)`;
      return violations.map((violation) => `${subject}: ${violation}`);
    }),
  );
}

/** Only this command needs the client, which takes longer to load than everything else. */
function loadDecoders(): typeof Decoders {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- loads the module on first use, synchronously; the type is that of the module
  return require('../client-decoders');
}
