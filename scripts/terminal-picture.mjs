// Writes docs/images/doctor.svg: what `grpc-xds-cli doctor` prints about a service of which one endpoint is away, run here and now.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const command = join(root, 'packages/cli/dist/main.js');
const COLUMNS = 110;
const LINE = 20;
const COLORS = {
  ok: '#3fb950',
  fail: '#ff7b72',
  warn: '#d29922',
  note: '#58a6ff',
  skip: '#8b949e',
};

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Breaks a line at blanks, as a terminal of that width would show it. */
function wrap(line) {
  if (line.length <= COLUMNS) return [line];
  const at = line.lastIndexOf(' ', COLUMNS);
  return [line.slice(0, at), ...wrap(`      ${line.slice(at + 1)}`)];
}

function row(line, i) {
  const [, word, rest] = /^(ok|fail|warn|note|skip)\b(.*)$/.exec(line) ?? [];
  const text =
    word === undefined
      ? escape(line)
      : `<tspan fill="${COLORS[word]}">${word}</tspan>${escape(rest)}`;
  return `<text x="16" y="${44 + i * LINE}" xml:space="preserve">${text}</text>`;
}

function picture(lines) {
  const width = COLUMNS * 8 + 32;
  const height = 44 + lines.length * LINE;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="The output of grpc-xds-cli doctor">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<circle cx="20" cy="16" r="5" fill="#ff5f57"/><circle cx="38" cy="16" r="5" fill="#febc2e"/><circle cx="56" cy="16" r="5" fill="#28c840"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">
${lines.map(row).join('\n')}
</g>
</svg>
`;
}

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-picture-'));
// Nothing listens on the port of the second endpoint.
const service = 'echo=127.0.0.1:18010,127.0.0.1:9';
const serve = [command, 'serve', '--service', service, '--port', '18010'];
mkdirSync(join(folder, 'node_modules/@grpc'), { recursive: true });
symlinkSync(
  join(root, 'node_modules/@grpc/grpc-js'),
  join(folder, 'node_modules/@grpc/grpc-js'),
  'junction',
);
const server = spawn(process.execPath, serve, { cwd: folder });
try {
  await once(server.stdout, 'data');
  const run = (...args) =>
    spawnSync(process.execPath, [command, ...args], { cwd: folder, encoding: 'utf8' }).stdout;
  run(
    'bootstrap',
    'plain',
    '--server',
    '127.0.0.1:18010',
    '--node-id',
    'echo-7d9',
    '--file',
    'doctor.json',
  );
  const output = run('doctor', 'doctor.json', '--target', 'xds:///echo').trimEnd();
  const lines = [
    '$ npx grpc-xds-cli doctor --target xds:///echo',
    ...output.split('\n').flatMap(wrap),
  ];
  writeFileSync(join(root, 'docs/images/doctor.svg'), picture(lines));
  console.log(lines.join('\n'));
} finally {
  server.kill();
  rmSync(folder, { recursive: true });
}
