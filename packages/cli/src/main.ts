#!/usr/bin/env node
import { join } from 'node:path';
import { systemClock } from '../../../src/util/clock';
import { MAX_INPUT_BYTES } from '../../../src/util/limits';
import { readRegularText } from '../../../src/util/read-regular-file';
import { createHandle } from '../../../src/util/handle';
import { exitCode } from './exit-codes';
import { formatDocument, formatLine, type CliIo } from './io';
import { runCli } from './program';
import { openScreen } from './screen';

/** Not that of the console, which warns on the standard error of `NO_COLOR` beside `FORCE_COLOR`. */
function write(stream: NodeJS.WriteStream, text: string): void {
  stream.write(`${text}\n`);
}

const io: CliIo = {
  print: (line) => write(process.stdout, formatLine(line)),
  printDocument: (text) => write(process.stdout, formatDocument(text)),
  redraw: (lines) =>
    void process.stdout.write(`\x1b[H\x1b[2J${lines.map(formatLine).join('\n')}\n`),
  printError: (line) => write(process.stderr, formatLine(line)),
  onInterrupt(callback) {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const signal of signals) process.once(signal, callback);
    return createHandle(() => {
      for (const signal of signals) process.off(signal, callback);
    });
  },
  // A dumb terminal has neither colors nor a screen: lines are written as to a file.
  isTerminal: process.stdout.isTTY && process.env['TERM'] !== 'dumb',
  get size() {
    const { columns, rows, isTTY } = process.stdout;
    return isTTY ? { columns, rows } : undefined;
  },
  get stdin() {
    return process.stdin;
  },
  openScreen: (listener) => openScreen(process.stdin, process.stdout, listener),
  env: process.env,
  nodeVersion: process.versions.node,
  // Read late: it may have been removed, which concerns only the commands that use it.
  get folder() {
    return process.cwd();
  },
  packageFolder: __dirname,
  clock: systemClock,
};

function readVersion(): string {
  const text = readRegularText(join(__dirname, '..', 'package.json'), {
    maxBytes: MAX_INPUT_BYTES,
  });
  const manifest: unknown = text.ok ? JSON.parse(text.value) : undefined;
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return hasVersion ? String(manifest.version) : 'unknown';
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe, such as `head`, may have seen enough. A command that has no result yet has not succeeded.
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCode.badInput);
  io.printError(`the output cannot be written: ${error.message}`);
  process.exit(exitCode.badInput);
});
// There is no place left to say so; the exit code does.
process.stderr.on('error', () => undefined);

void runCli(process.argv.slice(2), readVersion(), io).then((code) => {
  process.exitCode = code;
});
