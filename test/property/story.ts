import { seededRandom } from '../support/seeded-random';
import type { ServerHabits } from './model-server';
import { StepSource, type Step } from './steps';
import { NAMES, Truth, TYPES, type Content } from './truth';
import { resolveTarget, World, type Cached } from './world';

/** What happens to a client of each variant, and to the server that both have. */
export interface Story {
  readonly habits: ServerHabits;
  readonly steps: readonly Step[];
}

/** The story of a seed. */
export function storyOf(seed: number, length: number): Story {
  const source = new StepSource(seededRandom(seed));
  return { habits: source.habits(), steps: source.steps(length) };
}

/**
 * Plays a story to clients of both variants.
 * @returns what is wrong in the end, once the network and the server have been well for a while; nothing if both
 * know the truth.
 */
export function play({ habits, steps }: Story): readonly string[] {
  const truth = new Truth();
  if (habits.isFull) setAll(truth, 'valid');
  const worlds = [new World('sotw', truth, habits), new World('delta', truth, habits)];
  for (const step of steps) {
    changeTruth(truth, step);
    for (const world of worlds) world.play(step);
  }
  const settleAndCheck = () => {
    for (const world of worlds) {
      world.settle();
      world.check();
    }
    return worlds.flatMap((world) => mistakes(world, truth, habits));
  };
  const problems = [...settleAndCheck()];
  setAll(truth, 'valid');
  problems.push(...settleAndCheck(), ...disagreements(worlds));
  setAll(truth, 'absent');
  problems.push(...settleAndCheck());
  for (const world of worlds) world.close();
  return [...worlds.flatMap((world) => world.problems), ...problems];
}

/** Takes steps out of a story that goes wrong for as long as it goes wrong without them. */
function shrink(story: Story): Story {
  let { steps } = story;
  for (let size = steps.length >> 1; size >= 1; size >>= 1) {
    for (let from = 0; from < steps.length;) {
      const fewer = [...steps.slice(0, from), ...steps.slice(from + size)];
      if (play({ ...story, steps: fewer }).length > 0) steps = fewer;
      else from += size;
    }
  }
  return { ...story, steps };
}

/** A story that went wrong, for whoever has to find out why. */
export function describeFailure(seed: number, story: Story): string {
  const shortest = shrink(story);
  return [
    `seed ${seed}, ${story.steps.length} steps, of which these are enough:`,
    ...shortest.steps.map((step) => `  ${JSON.stringify(step)}`),
    `server: ${JSON.stringify(story.habits)}`,
    ...play(shortest).map((problem) => `=> ${problem}`),
  ].join('\n');
}

function changeTruth(truth: Truth, step: Step): void {
  if (step.kind !== 'set' && step.kind !== 'touch') return;
  const { type, name } = resolveTarget(step);
  if (step.kind === 'set') truth.set(type, name, step.content);
  else truth.touch(type, name);
}

function setAll(truth: Truth, kind: Content['kind']): void {
  for (const type of TYPES) for (const name of NAMES) truth.set(type, name, kind);
}

const FAILED_STATUS = {
  invalid: 'NACKED',
  error: 'RECEIVED_ERROR',
  absent: 'DOES_NOT_EXIST',
} as const;

function mistakes(world: World, truth: Truth, habits: ServerHabits): readonly string[] {
  const cache = world.cache();
  return [...world.watched()].flatMap(([key, target]) => {
    const { type, name } = resolveTarget(target);
    const { content } = truth.get(type, name);
    const cached = cache.get(key);
    const report = `${world.variant}: ${key} is ${JSON.stringify(content)}, cached ${JSON.stringify(cached)}`;
    if (cached === undefined) return [report];
    if (content.kind === 'valid') {
      return cached.status === 'ACKED' && cached.value === content.text ? [] : [report];
    }
    // State of the world cannot tell that a part of something else is gone.
    const canTell =
      content.kind !== 'absent' || type.allResourcesRequiredInSotw || world.variant === 'delta';
    if (canTell && cached.status !== FAILED_STATUS[content.kind]) return [report];
    return mayBeKept(content, cached, habits) || !canTell ? [] : [report];
  });
}

/** Whether a value may still be in use although it is no longer the one there is. */
function mayBeKept(
  content: Content,
  { value }: Cached,
  { failOnDataErrors }: ServerHabits,
): boolean {
  if (value === undefined || content.kind === 'error') return true;
  return !failOnDataErrors;
}

/** What clients of both variants do not have alike. */
function disagreements(worlds: readonly World[]): readonly string[] {
  const [first, second] = worlds.map((world) => JSON.stringify([...world.cache()].sort()));
  return first === second ? [] : [`the variants disagree: ${first} and ${second}`];
}
