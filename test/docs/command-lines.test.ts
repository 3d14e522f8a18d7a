import { CommanderError } from 'commander';
import { createProgram } from '../../packages/cli/src/program';
import { FakeIo } from '../cli/fake-io';
import { readPages } from './pages';

const PROGRAM = 'npx grpc-xds-cli ';

/** The commands in a line of a shell, or in code within a sentence: what follows the name of the program. */
function commandsIn(line: string): readonly string[] {
  return line
    .split(PROGRAM)
    .slice(1)
    .map((rest) => rest.replace(/\s#\s.*|\s*[;|>`].*/s, '').trim());
}

function wordsOf(command: string): readonly string[] {
  return Array.from(
    command.matchAll(/'([^']*)'|(\S+)/g),
    ([, quoted, plain]) => quoted ?? plain ?? '',
  );
}

const isParsed = new Error('parsed');

/** Returns why a command would not run; `undefined` if it would. */
async function refusalOf(command: string): Promise<string | undefined> {
  const io = new FakeIo();
  const program = createProgram('1.2.3', io, () => {}).hook('preAction', () => {
    throw isParsed;
  });
  try {
    await program.parseAsync([...wordsOf(command)], { from: 'user' });
  } catch (error) {
    if (error === isParsed) return undefined;
    if (error instanceof CommanderError) return `${error.code}: ${io.errors.join(' ')}`;
    throw error;
  }
  return 'nothing would run';
}

const commands = readPages().flatMap(({ path, text }) =>
  text.split('\n').flatMap((line) => {
    const isSentence = !/^(\$ |[A-Z_]+=|npx )/.test(line);
    return (
      commandsIn(line)
        // "…" and "<…>" stand for what a reader fills in.
        .filter((command) => !/[…<]/.test(command))
        .map((command) => ({ path, command, isSentence }))
    );
  }),
);

describe('the commands in the pages', () => {
  it('are all that there are', () => {
    expect(commands.length).toBeGreaterThan(80);
  });

  it.each(commands)('$path: $command', async ({ command, isSentence }) => {
    const refusal = await refusalOf(command);
    // A sentence may name a command, or an option, without what follows it.
    const isNamed = isSentence && /missing|argument/i.test(refusal ?? '');
    expect(isNamed ? undefined : refusal).toBeUndefined();
  });
});
