import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript';
import { isProgram } from './type-samples';
import { ROOT, type Page, type Sample } from './pages';

const FOLDER = join(ROOT, 'build', 'walk');
/** Variables that would change what the samples do. */
const OF_GRPC = /^GRPC_|_proxy$/i;
/** A sample that takes longer has failed. */
const TIMEOUT_MS = 60_000;

/** Whether a page has something to run. */
export function isRunnable({ samples }: Page): boolean {
  return samples.some(({ words }) => words.includes('run'));
}

/**
 * Packs the package and unpacks it into a folder, with the dependencies of this repository beside it: what a reader has who
 * installed it.
 */
export function prepareWalks(): void {
  rmSync(FOLDER, { recursive: true, force: true });
  const modules = join(FOLDER, 'node_modules');
  mkdirSync(modules, { recursive: true });
  for (const folder of ['.', ...readdirSync(join(ROOT, 'packages'), { encoding: 'utf8' })]) {
    installPacked(folder === '.' ? ROOT : join(ROOT, 'packages', folder), modules);
  }
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (existsSync(join(modules, name)) || name.startsWith('.')) continue;
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  mkdirSync(join(modules, '.bin'));
  for (const name of ['grpc-xds', 'grpc-xds-cli']) {
    symlinkSync('../grpc-xds-cli/dist/main.js', join(modules, '.bin', name));
  }
  chmodSync(join(modules, 'grpc-xds-cli/dist/main.js'), 0o755);
}

/** Packs the package of a folder, and unpacks it as npm does. */
function installPacked(folder: string, modules: string): void {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', FOLDER];
  const file = execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }).trim();
  const target = join(modules, file.replace(/-\d+\.\d+\.\d+.*$/, ''));
  mkdirSync(target);
  execFileSync('tar', ['-xzf', join(FOLDER, file), '-C', target, '--strip-components=1']);
}

/** How a command ended. */
interface Ending {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Follows a page from top to bottom in a folder of its own: writes its files, starts and runs its commands. */
export class PageWalk {
  private readonly folder: string;
  private readonly started: ChildProcess[] = [];
  private last: Ending | undefined;

  constructor(private readonly page: Page) {
    this.folder = join(FOLDER, page.path.replace(/\W/g, '-'));
    mkdirSync(this.folder);
    writeFileSync(join(this.folder, 'package.json'), '{ "private": true }');
    symlinkSync('../node_modules', join(this.folder, 'node_modules'));
  }

  /** @returns what did not happen as the page says, each as `file:line: text`. */
  async follow(): Promise<readonly string[]> {
    const faults: string[] = [];
    // A file that several samples use may be shown below them.
    for (const sample of this.page.samples) this.write(sample);
    for (const sample of this.page.samples) {
      const fault = await this.followSample(sample);
      if (fault !== undefined) faults.push(`${sample.page}:${sample.line}: ${fault}`);
    }
    for (const { pid = 0 } of this.started) stop(pid);
    return faults;
  }

  private async followSample(sample: Sample): Promise<string | undefined> {
    this.write(sample);
    if (sample.words.includes('output')) return this.compare(sample);
    if (sample.words.includes('start')) return this.start(sample);
    if (!sample.words.includes('run')) return undefined;
    if (sample.language === 'console') return this.followConsole(sample);
    const expected = Number(valueOf(sample, 'exit') ?? 0);
    this.last = await end(this.spawn(sample));
    const { code, out, err } = this.last;
    return code === expected ? undefined : `ended with ${code}, not ${expected}:\n${out}${err}`;
  }

  private write(sample: Sample): void {
    const file = valueOf(sample, 'file');
    if (file === undefined) return;
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, sample.text);
  }

  /** Runs each line that begins with `$ `, and compares what it prints with the lines below. */
  private async followConsole(sample: Sample): Promise<string | undefined> {
    for (const part of sample.text.split(/^\$ /m).slice(1)) {
      const [command = '', ...expected] = part.split('\n');
      const text = `{ ${command}; } 2>&1`;
      const code = Number(valueOf(sample, 'exit') ?? 0);
      this.last = await end(this.spawn({ ...sample, text }));
      if (this.last.code !== code) return `ended with ${this.last.code}: ${this.last.out}`;
      const fault = this.compare({ ...sample, text: expected.join('\n') });
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Compares what the last command printed with a sample, in which `…` is any text. */
  private compare({ text }: Sample): string | undefined {
    const out = (this.last?.out ?? '').trim();
    const parts = text
      .trim()
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('[^]*')}$`).test(out) ? undefined : `printed:\n${out}`;
  }

  /** Starts a command that goes on, and waits for what it prints first. */
  private async start(sample: Sample): Promise<string | undefined> {
    const child = this.spawn(sample);
    this.started.push(child);
    const ending = end(child);
    const printed = new Promise<undefined>((resolve) => {
      child.stdout?.once('data', () => resolve(undefined));
    });
    const ended = await Promise.race([printed, ending]);
    return ended === undefined ? undefined : `ended with ${ended.code}:\n${ended.out}${ended.err}`;
  }

  private spawn(sample: Sample): ChildProcess {
    const variables = Object.entries(process.env).filter(([name]) => !OF_GRPC.test(name));
    const env = { ...Object.fromEntries(variables), npm_config_loglevel: 'error' };
    const options = { cwd: this.folder, env, detached: true } as const;
    if (!isProgram(sample)) return spawn('bash', ['-euo', 'pipefail', '-c', sample.text], options);
    const file = join(this.folder, `sample-${sample.line}.mjs`);
    const compilerOptions = { module: ModuleKind.ESNext, target: ScriptTarget.ES2022 };
    writeFileSync(file, transpileModule(sample.text, { compilerOptions }).outputText);
    return spawn(process.execPath, [file], options);
  }
}

/** The value of a word such as `file=NAME`. */
function valueOf({ words }: Sample, name: string): string | undefined {
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** Waits for the end of a process, and for what it prints until then. */
function end(child: ChildProcess): Promise<Ending> {
  const timer = setTimeout(() => stop(child.pid ?? 0), TIMEOUT_MS);
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, out, err });
    });
  });
}

/** Ends a process and its children. */
function stop(pid: number): void {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch {
    // It has ended.
  }
}
