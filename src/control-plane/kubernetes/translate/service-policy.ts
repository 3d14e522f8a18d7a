import type { OutlierDetection } from '../../../wire/generated/envoy/config/cluster/v3/outlier_detection';
import { err, ok, type Result } from '../../../util/result';
import { findSimilar } from '../../../util/similar-name';
import { cutText, quoteText } from '../../../util/text';
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

/** Something of a Service that is not applied, for an event on it. */
export interface PolicyProblem {
  /** The key of the annotation; `undefined` if it is not about one. */
  readonly annotation: string | undefined;
  readonly message: string;
}

/** The overload threshold of the hints that Kubernetes computes by itself. */
const DEFAULT_MAX_ZONE_OVERLOAD_PERCENT = 20;

/** Characters of a message: the API refuses events with more than 1,024. */
const MAX_MESSAGE_LENGTH = 512;

/** Annotations that do not exist of which there is a problem: a Service may have thousands. */
const MAX_UNKNOWN = 10;

const LB_POLICIES = ['round_robin', 'least_request', 'ring_hash'] as const;
const MAX_UINT32 = 0xffff_ffff;

/**
 * Reads the policy of a service from its annotations. One that is wrong has no effect and is a problem; the others have theirs.
 */
export function readPolicy(given: ReadonlyMap<string, string>): {
  readonly policy: ServicePolicy;
  readonly problems: readonly PolicyProblem[];
} {
  const reader = new AnnotationReader(given);
  const choiceCount = reader.read(annotations.choiceCount, integerOf(2, 10));
  const header = reader.read(annotations.hashHeader, readHeaderName);
  const kind = reader.read(annotations.lbPolicy, (text) => readKind(text, header !== undefined));
  if (kind !== 'least_request') reader.checkUseless(annotations.choiceCount, 'least_request');
  if (kind !== 'ring_hash') reader.checkUseless(annotations.hashHeader, 'ring_hash');
  const policy: ServicePolicy = {
    lb: lbOf(kind, choiceCount, header),
    maxRequests: reader.read(annotations.maxRequests, integerOf(1, MAX_UINT32)),
    outlierDetection: reader.read(annotations.outlierDetection, readOutlierDetection),
    maxZoneOverloadPercent:
      reader.read(annotations.maxZoneOverload, integerOf(0, 10_000)) ??
      DEFAULT_MAX_ZONE_OVERLOAD_PERCENT,
  };
  reader.checkUnknown();
  return { policy, problems: reader.problems };
}

type LbKind = ServicePolicy['lb']['kind'];

function lbOf(
  kind: LbKind | undefined,
  choiceCount: number | undefined,
  header: string | undefined,
): ServicePolicy['lb'] {
  if (kind === 'least_request') return { kind, choiceCount };
  return kind === 'ring_hash' && header !== undefined ? { kind, header } : { kind: 'round_robin' };
}

class AnnotationReader {
  readonly problems: PolicyProblem[] = [];

  constructor(private readonly given: ReadonlyMap<string, string>) {}

  /** Returns the value of an annotation; `undefined` if it is not there or wrong. */
  read<T>(annotation: string, parse: (text: string) => Result<T, string>): T | undefined {
    const text = this.given.get(annotation);
    if (text === undefined) return undefined;
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    this.problems.push({ annotation, message: cutText(parsed.error, MAX_MESSAGE_LENGTH) });
    return undefined;
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

function readKind(text: string, hasHeader: boolean): Result<LbKind, string> {
  const kind = LB_POLICIES.find((each) => each === text);
  if (kind === undefined) return err(`must be ${LB_POLICIES.join(', ')}, not ${quoteText(text)}`);
  if (kind === 'ring_hash' && !hasHeader) return err(`ring_hash needs ${annotations.hashHeader}`);
  return ok(kind);
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
