// Plays random stories to both variants of the protocol: `npm run property -- --steps 100000 --seed 1`.
import { parseArgs } from 'node:util';
import { describeFailure, play, storyOf } from './story';

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '100000' },
    length: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
});
const length = Number(values.length);
const stories = Math.ceil(Number(values.steps) / length);
const firstSeed = Number(values.seed);
const { user: before } = process.cpuUsage();
for (let seed = firstSeed; seed < firstSeed + stories; seed++) {
  const story = storyOf(seed, length);
  if (play(story).length === 0) continue;
  process.stderr.write(`${describeFailure(seed, story)}\n`);
  process.exit(1);
}
const seconds = ((process.cpuUsage().user - before) / 1e6).toFixed(1);
process.stdout.write(
  `${stories} stories of ${length} steps, seeds ${firstSeed} to ${firstSeed + stories - 1}: ` +
    `both variants know the truth after each (${seconds} s of CPU)\n`,
);
