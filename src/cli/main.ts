#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../util/clock';
import { createHandle } from '../util/handle';
import { type CliIo, printable } from './io';
import { runCli } from './program';

const PACKAGE_FOLDER = join(__dirname, '..', '..');

const io: CliIo = {
  print: (line) => console.log(printable(line)),
  redraw: (lines) => void process.stdout.write(`\x1b[H\x1b[2J${printable(lines.join('\n'))}\n`),
  printError: (line) => console.error(printable(line)),
  onInterrupt(callback) {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    for (const signal of signals) process.once(signal, callback);
    return createHandle(() => {
      for (const signal of signals) process.off(signal, callback);
    });
  },
  isTerminal: process.stdout.isTTY,
  env: process.env,
  nodeVersion: process.versions.node,
  folder: process.cwd(),
  packageFolder: PACKAGE_FOLDER,
  clock: systemClock,
};

function readVersion(): string {
  const text = readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8');
  const manifest: unknown = JSON.parse(text);
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
