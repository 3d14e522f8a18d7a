import type { Result } from '../../util/result';
import type { Steps } from '../../util/steps';
import { SteppedUpdates } from '../../util/time-slices';
import { certificateSteps, type CertificateSteps } from './certificate-steps';
import { LastGood, type LastGoodOptions } from './last-good';

/** What a provider has supplied last of one part, and why it supplies no more since. */
interface Supplied<T> {
  readonly part: { readonly value: T } | undefined;
  readonly failure: string | undefined;
}

/** One part of the certificates of a name: parsed in steps, the last good one in use until then. */
export class SuppliedPart<Given, T> {
  private readonly lastGood: LastGood<T>;
  private readonly steps: CertificateSteps;
  private readonly updates: SteppedUpdates<Supplied<Given>>;
  private given: Supplied<Given>['part'];
  private applied: Supplied<Given>['part'];

  constructor(
    options: LastGoodOptions,
    private readonly parse: (given: Given) => Steps<Result<T, string>>,
    private readonly bytesOf: (given: Given) => readonly Buffer[],
    private readonly onChanged: () => void,
  ) {
    this.lastGood = new LastGood(options);
    this.steps = certificateSteps(options);
    this.updates = new SteppedUpdates({
      environment: this.steps,
      apply: (supplied) => this.apply(supplied),
    });
  }

  /** See `LastGood`. */
  get result(): Result<T, string> | undefined {
    return this.lastGood.result;
  }

  /** Replaces the part, once it is parsed. Of several that are supplied meanwhile, the last one. */
  supply(value: Given): void {
    this.given = { value };
    this.steps.batch.run(() => this.updates.add({ part: this.given, failure: undefined }));
  }

  /** Records why no other part is available. */
  fail(failure: string): void {
    this.steps.batch.run(() => this.updates.add({ part: this.given, failure }));
  }

  /** Drops what is being parsed. */
  end(): void {
    this.updates.cancel();
  }

  private *apply({ part, failure }: Supplied<Given>): Steps<void> {
    let isChanged = false;
    if (part !== undefined && part !== this.applied) {
      this.applied = part;
      const { value } = part;
      isChanged = yield* this.lastGood.update(this.bytesOf(value), () => this.parse(value));
    }
    if (failure !== undefined) isChanged = this.lastGood.fail(failure) || isChanged;
    if (isChanged) this.onChanged();
  }
}
