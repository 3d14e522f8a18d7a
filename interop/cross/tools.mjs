// Builds the programs in other languages. What is built and up to date is left alone.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folderOf = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** By language: which programs must be there, which files decide whether to build again, and how to build. */
const BUILDS = {
  go: {
    tools: [['go', 'version']],
    sources: [
      'go.mod',
      'go.sum',
      'main.go',
      'authorization.go',
      'client.go',
      'debug.go',
      'encoder.go',
      'load_reports.go',
      'measured_server.go',
      'metrics.go',
      'probe.go',
      'route_lookup.go',
      'secure_server.go',
      'server.go',
      'control_plane.go',
      'xds_server.go',
    ],
    commands: [['go', 'build', '-buildvcs=false', '-o', 'build/peer', '.']],
  },
  python: {
    tools: [['python3', '-m', 'pip', '--version']],
    sources: ['requirements.txt'],
    commands: [
      [
        'python3',
        '-m',
        'pip',
        'install',
        '--quiet',
        '--no-deps',
        '--only-binary',
        ':all:',
        '--target',
        'build/packages',
        '--requirement',
        'requirements.txt',
      ],
    ],
  },
  java: {
    tools: [
      ['java', '-version'],
      ['mvn', '--version'],
    ],
    sources: [
      'pom.xml',
      'src/main/java/interop/Client.java',
      'src/main/java/interop/Probe.java',
      'src/main/java/interop/SecureServers.java',
      'src/main/java/interop/TestService.java',
      'src/main/java/interop/XdsServers.java',
    ],
    commands: [['mvn', '--quiet', '--batch-mode', 'process-classes']],
  },
};

const run = ([program, ...args], cwd) =>
  new Promise((resolve) => {
    let output = '';
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => (output += text));
    child.once('error', ({ message }) => resolve({ passed: false, output: message }));
    child.once('close', (code) => resolve({ passed: code === 0, output }));
  });

const digestOf = (folder, sources) => {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(join(folder, source)));
  return hash.digest('hex');
};

const readOrNothing = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

/**
 * Builds the program of a language.
 * @returns the kind `ready`, or `missing` when the tools are not on this machine.
 * @throws when the tools are there and the build fails.
 */
export const prepare = async (language) => {
  const { tools, sources, commands } = BUILDS[language];
  const tried = await Promise.all(tools.map((tool) => run(tool)));
  const missing = tools.filter((_, i) => !tried[i].passed).map(([program]) => program);
  if (missing.length > 0) return { kind: 'missing', missing };
  const folder = folderOf(language);
  const stamp = join(folder, 'build', 'digest');
  const digest = digestOf(folder, sources);
  if (readOrNothing(stamp) === digest) return { kind: 'ready' };
  rmSync(join(folder, 'build'), { recursive: true, force: true });
  mkdirSync(join(folder, 'build'), { recursive: true });
  for (const command of commands) {
    const { passed, output } = await run(command, folder);
    if (!passed) throw new Error(`${command.join(' ')} failed in interop/${language}:\n${output}`);
  }
  writeFileSync(stamp, digest);
  return { kind: 'ready' };
};
