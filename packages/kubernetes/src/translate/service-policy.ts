import type { OutlierDetection } from '../../../../src/wire/generated/envoy/config/cluster/v3/outlier_detection';
import { err, ok, type Result } from '../../../../src/util/result';
import { findSimilar } from '../../../../src/util/similar-name';
import { cutText, quoteText } from '../../../../src/util/text';
import { ANNOTATION_PREFIX, annotations } from './annotations';
import { readOutlierDetection } from './outlier-annotation';

/** How the calls of a service are distributed among its endpoints, and limited. */
export interface ServicePolicy {
  readonly lb:
    | { readonly kind: 'round_robin' }
    | { readonly kind: 'least_request'; readonly choiceCount: number | undefined }
    | { readonly kind: 'ring_hash'; readonly header: string };
  readonly maxRequests: number | undefined;
  readonly outlierDetection: OutlierDetection | undefined;
  readonly maxZoneOverloadPercent: number;
}

/** A part of a Service that is not applied, for an event on it. */
export interface PolicyProblem {
  /** The key of the annotation; `undefined` if it is not about one. */
  readonly annotation: string | undefined;
  readonly message: string;
  /** The value in use instead of an invalid annotation, such as `least_request`; `undefined` if there is none. */
  readonly inUse?: string;
}

/** What clients do without the annotation (gRFCs A32, A48). */
const DEFAULT_MAX_REQUESTS = 1024;
const DEFAULT_CHOICE_COUNT = 2;

/** Characters of a message: the API refuses events with more than 1,024. */
const MAX_MESSAGE_LENGTH = 512;

/** Annotations that do not exist of which there is a problem: a Service may have thousands. */
const MAX_UNKNOWN = 10;

const LB_POLICIES = ['round_robin', 'least_request', 'ring_hash'] as const;
const MAX_UINT32 = 0xffff_ffff;

/** The policy of a service without annotations. */
const DEFAULT_POLICY: ServicePolicy = {
  lb: { kind: 'round_robin' },
  maxRequests: undefined,
  outlierDetection: undefined,
  // The overload threshold of the hints that Kubernetes computes by itself.
  maxZoneOverloadPercent: 20,
};

/**
 * Reads the policy of a service from its annotations. One that is wrong is a problem, and changes nothing: what was in use before
 * stays. The others have their effect.
 *
 * @param before What was in use before. Default: the policy of a service without annotations.
 */
export function readPolicy(
  given: ReadonlyMap<string, string>,
  before: ServicePolicy = DEFAULT_POLICY,
): {
  readonly policy: ServicePolicy;
  readonly problems: readonly PolicyProblem[];
} {
  const reader = new AnnotationReader(given);
  const policy: ServicePolicy = {
    lb: readLb(reader, before.lb),
    maxRequests: reader.read(annotations.maxRequests, {
      parse: integerOf(1, MAX_UINT32),
      before: before.maxRequests,
      unset: undefined,
      describe: (value = DEFAULT_MAX_REQUESTS) => `${value}`,
    }),
    outlierDetection: reader.read(annotations.outlierDetection, {
      parse: readOutlierDetection,
      before: before.outlierDetection,
      unset: undefined,
      describe: (value) => (value === undefined ? 'none' : 'what was right before'),
    }),
    maxZoneOverloadPercent: reader.read(annotations.maxZoneOverload, {
      parse: integerOf(0, 10_000),
      before: before.maxZoneOverloadPercent,
      unset: DEFAULT_POLICY.maxZoneOverloadPercent,
      describe: String,
    }),
  };
  reader.checkUnknown();
  return { policy, problems: reader.problems };
}

type Lb = ServicePolicy['lb'];
type LbKind = Lb['kind'];

function readLb(reader: AnnotationReader, before: Lb): Lb {
  const choiceCount = reader.read(annotations.choiceCount, {
    parse: integerOf(2, 10),
    before: before.kind === 'least_request' ? before.choiceCount : undefined,
    unset: undefined,
    describe: (value = DEFAULT_CHOICE_COUNT) => `${value}`,
  });
  const header = reader.read(annotations.hashHeader, {
    parse: readHeaderName,
    before: before.kind === 'ring_hash' ? before.header : undefined,
    unset: undefined,
    describe: (value = 'none') => value,
  });
  const lb = reader.read<Lb>(annotations.lbPolicy, {
    parse: (text) => readKind(text, choiceCount, header),
    before,
    unset: DEFAULT_POLICY.lb,
    describe: (value) => (value.kind === 'ring_hash' ? `ring_hash by ${value.header}` : value.kind),
  });
  if (lb.kind !== 'least_request') reader.checkUseless(annotations.choiceCount, 'least_request');
  if (lb.kind !== 'ring_hash') reader.checkUseless(annotations.hashHeader, 'ring_hash');
  return lb;
}

/** How the value of an annotation is read. */
interface AnnotationValue<T> {
  readonly parse: (text: string) => Result<T, string>;
  /** What is in use if it is wrong. */
  readonly before: T;
  /** What is in use without it. */
  readonly unset: T;
  /** Says what is in use. */
  readonly describe: (value: T) => string;
}

class AnnotationReader {
  readonly problems: PolicyProblem[] = [];

  constructor(private readonly given: ReadonlyMap<string, string>) {}

  /** Returns the value of an annotation that is in use. */
  read<T>(annotation: string, { parse, before, unset, describe }: AnnotationValue<T>): T {
    const text = this.given.get(annotation);
    if (text === undefined) return unset;
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    const message = cutText(parsed.error, MAX_MESSAGE_LENGTH);
    this.problems.push({ annotation, message, inUse: describe(before) });
    return before;
  }

  /** Adds a problem for an annotation that is right and of another policy than the one in use. */
  checkUseless(annotation: string, kind: LbKind): void {
    const isReported = this.problems.some((problem) => problem.annotation === annotation);
    if (!this.given.has(annotation) || isReported) return;
    const message = `has an effect only with ${annotations.lbPolicy}: ${kind}`;
    this.problems.push({ annotation, message });
  }

  checkUnknown(): void {
    const known: readonly string[] = Object.values(annotations);
    let count = 0;
    for (const annotation of this.given.keys()) {
      if (!annotation.startsWith(ANNOTATION_PREFIX) || known.includes(annotation)) continue;
      if (++count > MAX_UNKNOWN) return;
      const similar = findSimilar(annotation, known);
      const hint = similar === undefined ? '' : `: did you mean ${similar}?`;
      this.problems.push({ annotation, message: `there is no such annotation${hint}` });
    }
  }
}

function readKind(
  text: string,
  choiceCount: number | undefined,
  header: string | undefined,
): Result<Lb, string> {
  const kind = LB_POLICIES.find((each) => each === text);
  if (kind === undefined) return err(`must be ${LB_POLICIES.join(', ')}, not ${quoteText(text)}`);
  if (kind === 'least_request') return ok({ kind, choiceCount });
  if (kind === 'round_robin') return ok({ kind });
  return header === undefined
    ? err(`ring_hash needs ${annotations.hashHeader}`)
    : ok({ kind, header });
}

function integerOf(min: number, max: number): (text: string) => Result<number, string> {
  return (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max
      ? ok(value)
      : err(`must be an integer from ${min} to ${max}, not ${quoteText(text)}`);
  };
}

/** Clients do not hash the values of binary headers (gRFC A42), and pseudo-headers are the same in all calls. */
function readHeaderName(text: string): Result<string, string> {
  const isName = /^[0-9a-z_.-]{1,256}$/.test(text) && !text.endsWith('-bin');
  return isName
    ? ok(text)
    : err(`must be the name of a header in small letters without -bin, not ${quoteText(text)}`);
}
