// Plays random stories to both variants of the protocol, and random events to `buildXdsConfig`:
// `npm run trial -- property --steps 100000 --seed 1`.
import { ConfigEvents } from './config-events';
import { describeFailure, play, storyOf } from './story';
import { readOptions } from '../support/options';

const {
  length,
  seed: firstSeed,
  steps,
} = readOptions('npm run trial -- property', {
  steps: { default: 100_000, about: 'steps in all' },
  length: { default: 200, about: 'steps of a story' },
  seed: { default: 1, about: 'the seed of the first story' },
});
const stories = Math.ceil(steps / length);
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

const { user: beforeEvents } = process.cpuUsage();
for (let seed = firstSeed; seed < firstSeed + stories; seed++) {
  const events = new ConfigEvents(seed);
  for (let step = 0; step < length; step++) {
    const difference = events.step();
    if (difference === undefined) continue;
    process.stderr.write(`config, seed ${seed}, step ${step}: ${difference}\n`);
    process.exit(1);
  }
}
const eventSeconds = ((process.cpuUsage().user - beforeEvents) / 1e6).toFixed(1);
process.stdout.write(
  `${stories * length} configs: equal to the full walk after each (${eventSeconds} s of CPU)\n`,
);
