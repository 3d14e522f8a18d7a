/** Something known of a subject. */
export interface Fact {
  /** For people, such as `version 7`. */
  readonly text: string;
  /** What is compared in place of the text, if all subjects with the fact have it, such as a digest of the contents. */
  readonly key?: string;
}

/** One of several that should be alike, such as a process. */
export interface Subject {
  /** Such as `pid 3`. */
  readonly name: string;
  /** By what they are about, such as `Cluster "cart"`. A fact that a subject does not have is not compared for it. */
  readonly facts: ReadonlyMap<string, Fact>;
}

/** A fact in which subjects differ. */
export interface Difference {
  readonly fact: string;
  /** The text of more than half of the subjects; `undefined` if no value has that many. */
  readonly usual: string | undefined;
  /** How many subjects have the usual value. */
  readonly usualCount: number;
  /** The subjects with another value than the usual one; all of them if there is none. */
  readonly others: readonly { readonly subject: number; readonly text: string }[];
}

/** How subjects differ. */
export interface Comparison {
  /** The number of facts that at least two subjects have. */
  readonly compared: number;
  /** In the order of the facts of the first subjects. */
  readonly differences: readonly Difference[];
}

interface Value {
  readonly subject: number;
  readonly fact: Fact;
}

/** Compares subjects fact by fact: the value of more than half of those with a fact is the usual one, any other differs. */
export function compareSubjects(subjects: readonly Subject[]): Comparison {
  const facts = new Map<string, Value[]>();
  subjects.forEach((each, subject) => {
    for (const [name, fact] of each.facts) {
      const values = facts.get(name);
      if (values === undefined) facts.set(name, [{ subject, fact }]);
      else values.push({ subject, fact });
    }
  });
  let compared = 0;
  const differences: Difference[] = [];
  for (const [fact, values] of facts) {
    if (values.length < 2) continue;
    compared++;
    const difference = compareValues(fact, values);
    if (difference !== undefined) differences.push(difference);
  }
  return { compared, differences };
}

function compareValues(fact: string, values: readonly Value[]): Difference | undefined {
  const hasKeys = values.every((value) => value.fact.key !== undefined);
  const keyOf = (value: Value) => (hasKeys ? (value.fact.key ?? '') : value.fact.text);
  const counts = new Map<string, number>();
  for (const value of values) counts.set(keyOf(value), (counts.get(keyOf(value)) ?? 0) + 1);
  if (counts.size === 1) return undefined;
  const [usualKey, usualCount] = [...counts].find(([, count]) => 2 * count > values.length) ?? [];
  const usual = values.find((value) => keyOf(value) === usualKey)?.fact.text;
  const others = values
    .filter((value) => keyOf(value) !== usualKey)
    .map(({ subject, fact: { text } }) => ({
      ...{ subject, text: text === usual ? `${text} with other contents` : text },
    }));
  return { fact, usual, usualCount: usualCount ?? 0, others };
}

/** Differences, and subjects, that a verdict names. */
const MAX_NAMED = 3;

/**
 * Describes a comparison in one line, such as `pid 3 differs in 2 of 41: Cluster "cart": version 7, others version 8`.
 *
 * @param noun What the subjects are, in the plural.
 */
export function describeComparison(
  { compared, differences }: Comparison,
  subjects: readonly Subject[],
  noun: string,
): string {
  if (compared === 0) return 'nothing to compare';
  if (differences.length === 0) return `${subjects.length} ${noun} agree in all of ${compared}`;
  const split = differences.filter(({ usual }) => usual === undefined);
  const odd = oddSubjects(differences);
  const parts = [...odd].slice(0, MAX_NAMED).map(([subject, own]) => {
    const named = own.slice(0, MAX_NAMED).map((each) => describeOwn(each, subject));
    const name = subjects[subject]?.name ?? '';
    return `${name} differs in ${own.length} of ${compared}: ${listText(named, own.length)}`;
  });
  if (odd.size > MAX_NAMED) parts.push(`and ${odd.size - MAX_NAMED} more ${noun} differ`);
  if (split.length > 0) {
    const named = split.slice(0, MAX_NAMED).map((each) => describeSplit(each, subjects));
    parts.push(`no majority in ${split.length} of ${compared}: ${listText(named, split.length)}`);
  }
  return parts.join('; ');
}

/** Returns the subjects with another value than the usual one, each with these differences: the one with the most first. */
function oddSubjects(
  differences: readonly Difference[],
): ReadonlyMap<number, readonly Difference[]> {
  const odd = new Map<number, Difference[]>();
  for (const difference of differences) {
    if (difference.usual === undefined) continue;
    for (const { subject } of difference.others) {
      const own = odd.get(subject);
      if (own === undefined) odd.set(subject, [difference]);
      else own.push(difference);
    }
  }
  return new Map([...odd].sort(([, a], [, b]) => b.length - a.length));
}

function describeOwn({ fact, usual, others }: Difference, subject: number): string {
  const own = others.find((each) => each.subject === subject)?.text ?? '';
  return `${fact}: ${own}, others ${usual ?? ''}`;
}

function describeSplit({ fact, others }: Difference, subjects: readonly Subject[]): string {
  const values = others
    .slice(0, MAX_NAMED)
    .map(({ subject, text }) => `${text} (${subjects[subject]?.name ?? ''})`);
  return `${fact}: ${listText(values, others.length)}`;
}

function listText(named: readonly string[], count: number): string {
  const more = count - named.length;
  return `${named.join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}
