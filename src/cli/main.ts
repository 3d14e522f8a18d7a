#!/usr/bin/env node
import { join } from 'node:path';
import { systemClock } from '../util/clock';
import { MAX_INPUT_BYTES, readRegularText } from '../util/read-regular-file';
import { createHandle } from '../util/handle';
import { formatDocument, formatLine, type CliIo } from './io';
import { runCli } from './program';
import { openScreen } from './screen';

const PACKAGE_FOLDER = join(__dirname, '..', '..');

const io: CliIo = {
  print: (line) => console.log(formatLine(line)),
  printDocument: (text) => console.log(formatDocument(text)),
  redraw: (lines) =>
    void process.stdout.write(`\x1b[H\x1b[2J${lines.map(formatLine).join('\n')}\n`),
  printError: (line) => console.error(formatLine(line)),
  onInterrupt(callback) {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const signal of signals) process.once(signal, callback);
    return createHandle(() => {
      for (const signal of signals) process.off(signal, callback);
    });
  },
  isTerminal: process.stdout.isTTY,
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
  packageFolder: PACKAGE_FOLDER,
  clock: systemClock,
};

function readVersion(): string {
  const text = readRegularText(join(PACKAGE_FOLDER, 'package.json'), { maxBytes: MAX_INPUT_BYTES });
  const manifest: unknown = text.ok ? JSON.parse(text.value) : undefined;
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return hasVersion ? String(manifest.version) : 'unknown';
}

// The reader of a pipe, such as `head`, may have seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

void runCli(process.argv.slice(2), readVersion(), io).then((code) => {
  process.exitCode = code;
});
