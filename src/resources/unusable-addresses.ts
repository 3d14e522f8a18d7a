/** Counts the endpoints of one resource that have an address of a kind that this client cannot use. */
export class UnusableAddresses {
  private endpoints = 0;

  /** Counts one endpoint, however many such addresses it has. */
  addEndpoint(): void {
    this.endpoints++;
  }

  /** How many there are; `undefined` if there are none, as resources spell it. */
  get count(): number | undefined {
    return this.endpoints === 0 ? undefined : this.endpoints;
  }
}

/** Describes the addresses that were left out of a resource; `undefined` if none was. */
export function describeUnusable(count: number | undefined): string | undefined {
  if (count === undefined) return undefined;
  const subject = count === 1 ? '1 endpoint has' : `${count} endpoints have`;
  return `${subject} an address of a kind that this client cannot use (unix socket or internal listener), skipped`;
}
