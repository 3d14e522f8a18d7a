import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runModule } from '../interop/run-module';

// The ESLint rule that finds what is handed to grpc-js past the functions of src/grpc-js: see docs/decisions/process.md.

const ROOT = join(__dirname, '..', '..');

const HEAD = `
import * as hosts from '../grpc-js';
import * as calls from '../grpc-js/host-call';
import * as made from '../grpc-js/host-callbacks';
import * as served from '../grpc-js/server-callbacks';
import type { CallListener } from '../grpc-js/handed-over';
declare function f(...args: readonly unknown[]): void;
declare function check(): undefined;
declare const call: hosts.ServerDuplexStream<Buffer, Buffer>;
declare const given: ConstructorParameters<typeof hosts.ServerInterceptingCall>[0];
declare const stream: ReturnType<hosts.Channel['createCall']>;
declare const connection: hosts.Subchannel;
declare const server: hosts.Server;
declare const service: hosts.ServiceDefinition;
declare const context: Parameters<typeof hosts.credentials.createFromSecureContext>[0];
const listened = made.containedCallback('x', () => f());
class Untyped { onReceiveMetadata() { f(); } onReceiveMessage() { f(); } onReceiveStatus() { f(); } }
`;

const FOUND = [
  'export const a: CallListener = { ...new Untyped(), onReceiveStatus(status) { f(status); } };',
  'export abstract class B implements CallListener { abstract onReceiveStatus(): void; }',
  'export abstract class C implements hosts.Filter { abstract receiveTrailers(): never; }',
  'export abstract class D implements hosts.Resolver { abstract destroy(): void; }',
  'export abstract class E implements hosts.LoadBalancer { abstract destroy(): void; }',
  'export const g: Partial<hosts.LbHelper> = { requestReresolution() { f(); } };',
  'stream.start(new hosts.Metadata(), new Untyped());',
  'connection.addConnectivityStateListener((one, other) => f(one, other));',
  'connection.addConnectivityStateListener(f);',
  "call.on('data', f);",
  "call.once('cancelled', () => f());",
  'call.write(Buffer.alloc(0), () => f());',
  'stream.sendMessageWithContext({ callback: () => f() }, Buffer.alloc(0));',
  'server.addService(service, { A: (started: unknown) => f(started) });',
  'server.addService(service, { A: f });',
  'server.tryShutdown(() => f());',
  'new hosts.ServerInterceptingCall(given, { start: (next) => f(next) });',
  'export const h: hosts.ServerInterceptor = (_, next) => new hosts.ServerInterceptingCall(next);',
  'hosts.credentials.createFromSecureContext(context, { checkServerIdentity: check });',
];

const NOT_FOUND = [
  'export class K extends calls.ContainedListener { place = "x"; onStatus = (end: never) => end; }',
  'export abstract class L implements hosts.Picker { abstract pick(): never; }',
  "stream.start(new hosts.Metadata(), made.containedListener('x', f as never, f));",
  'connection.addConnectivityStateListener(listened);',
  "connection.addConnectivityStateListener(made.containedCallback('x', () => f()));",
  "served.onCallEvent('x', call, 'data', () => f());",
  "server.addService(service, { A: served.containedHandler('x', () => f()) });",
  "server.tryShutdown(made.containedCallback('x', () => f()));",
  "export const m = served.containedInterceptor('x', (_, next) => served.interceptCall('x', next, { onMetadata: () => true }));",
  "process.on('exit', () => f());",
];

describe('a function that grpc-js calls', () => {
  let lines: readonly string[];

  beforeAll(async () => {
    const text = HEAD + [...FOUND, ...NOT_FOUND].join('\n');
    // With the types of what the text imports, and not of the whole library.
    const folder = mkdtempSync(join(tmpdir(), 'host-callbacks-'));
    const project = join(folder, 'tsconfig.json');
    const file = join(ROOT, 'src', 'lb', 'connectivity.ts');
    writeFileSync(
      project,
      JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: [], files: [file] }),
    );
    const found = await runModule(`
      import { ESLint } from 'eslint';
      import { parser } from 'typescript-eslint';
      import { hostCallbacks } from './scripts/eslint/host-callbacks.mjs';
      const eslint = new ESLint({
        overrideConfigFile: true,
        overrideConfig: {
          files: ['**/*.ts'],
          languageOptions: {
            parser,
            parserOptions: {
              project: ${JSON.stringify(project)},
              // Else it judges the file and not the text, where the variable CI is set.
              disallowAutomaticSingleRunInference: true,
            },
          },
          plugins: { local: { rules: { 'host-callbacks': hostCallbacks } } },
          rules: { 'local/host-callbacks': 'error' },
        },
      });
      const [{ messages }] = await eslint.lintText(${JSON.stringify(text)}, {
        filePath: ${JSON.stringify(file)},
      });
      answer(messages);
    `);
    rmSync(folder, { recursive: true });
    const all = text.split('\n');
    lines = (found as { line: number }[]).map(({ line }) => all[line - 1] ?? '');
  });

  it.each(FOUND)('is found: %s', (code) => {
    expect(lines).toContain(code);
  });

  it.each(NOT_FOUND)('may be: %s', (code) => {
    expect(lines).not.toContain(code);
  });
});
