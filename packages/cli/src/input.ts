// eslint-disable-next-line no-restricted-imports -- opens a FIFO, which readRegularFile refuses
import { constants, openSync, readdirSync, statSync, type Stats } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { ByteCollector } from '../../../src/util/bytes';
import type { Clock } from '../../../src/util/clock';
import { describeDuration } from '../../../src/util/duration';
import { errorMessage } from '../../../src/util/errors';
import type { Handle } from '../../../src/util/handle';
import { MAX_INPUT_BYTES } from '../../../src/util/limits';
import { readRegularText } from '../../../src/util/read-regular-file';
import { err, ok, type Result } from '../../../src/util/result';
import type { CliIo } from './io';
import { afterRunning } from '../../../src/util/running-time';

/** The name of the standard input. */
const STDIN = '-';

/** A FIFO whose writer is silent for as long is not waited for. */
const SILENCE_MS = 10_000;

/** Files of a folder that are resource files. */
const RESOURCE_FILE = /\.(ya?ml|json)$/i;

/**
 * Reads the text of an input of a command: a file, `-` for the standard input, or a FIFO such as that of the shell's `<(…)`.
 * Opening a FIFO without a writer does not wait for one.
 *
 * @returns the text, or why there is none, without the name of the file.
 */
export async function readInput(
  path: string,
  io: Pick<CliIo, 'stdin' | 'clock'>,
): Promise<Result<string, string>> {
  if (path === STDIN) return readStream(io.stdin);
  return statOf(path)?.isFIFO() === true
    ? readFifo(path, io.clock)
    : readRegularText(path, { maxBytes: MAX_INPUT_BYTES });
}

/** Reads the text of a resource file, as `readInput` does. A folder is described by the resource files that it has. */
export async function readResourceText(
  path: string,
  io: Pick<CliIo, 'stdin' | 'clock'>,
): Promise<Result<string, string>> {
  const read = await readInput(path, io);
  const isFolder = path !== STDIN && statOf(path)?.isDirectory() === true;
  return read.ok || !isFolder ? read : err(`${read.error}${describeFolder(path)}`);
}

function describeFolder(path: string): string {
  const files = resourceFilesOf(path);
  if (!files.ok) return '';
  const [first, ...more] = files.value;
  if (first === undefined) return ', and none of its files is called *.yaml, *.yml or *.json';
  const count =
    more.length === 0 ? 'its resource file' : `one of its ${more.length + 1} resource files`;
  return `: name ${count}, such as ${first}`;
}

/** Returns the resource files of a folder in the order of their names, or why it cannot be read. */
function resourceFilesOf(path: string): Result<readonly string[], string> {
  try {
    const names = readdirSync(path).filter((name) => RESOURCE_FILE.test(name));
    return ok(names.sort().map((name) => join(path, name)));
  } catch (error) {
    return err(errorMessage(error));
  }
}

/** Says of the paths of a command that the standard input is among them twice; `undefined` if it is not. */
export function findReadTwice(paths: readonly string[]): string | undefined {
  const isTwice = paths.indexOf(STDIN) !== paths.lastIndexOf(STDIN);
  return isTwice ? `${STDIN} is given twice: the standard input can be read only once` : undefined;
}

/** Replaces each folder by its YAML and JSON files, in the order of their names. @returns also folders without any. */
export function expandFolders(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    if (path === STDIN || statOf(path)?.isDirectory() !== true) return [path];
    const files = resourceFilesOf(path);
    return files.ok && files.value.length > 0 ? files.value : [path];
  });
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // Such as a file below another file: reading it says so.
    return undefined;
  }
}

async function readFifo(path: string, clock: Clock): Promise<Result<string, string>> {
  let timer: Handle | undefined;
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const socket = new Socket({ fd: descriptor, readable: true, writable: false });
    const wait = () => {
      timer?.release();
      const onSilent = () => {
        const time = describeDuration(SILENCE_MS);
        socket.destroy(new Error(`the writer of this FIFO has been silent for ${time}`));
      };
      timer = afterRunning(clock, onSilent, SILENCE_MS);
    };
    wait();
    const text = await readStream(socket, wait);
    return text.ok && text.value === '' ? err('a FIFO that nobody writes to') : text;
  } catch (error) {
    return err(errorMessage(error));
  } finally {
    timer?.release();
  }
}

async function readStream(
  stream: AsyncIterable<Uint8Array>,
  onChunk: () => void = () => undefined,
): Promise<Result<string, string>> {
  const content = new ByteCollector(MAX_INPUT_BYTES);
  try {
    for await (const chunk of stream) {
      onChunk();
      if (!content.add(chunk)) return err(`more than ${MAX_INPUT_BYTES} bytes`);
    }
    return ok(content.bytes.toString('utf8'));
  } catch (error) {
    return err(errorMessage(error));
  }
}
