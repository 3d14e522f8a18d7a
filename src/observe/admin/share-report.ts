/** A relay that this process shares with others by `register({ share })`. */
export interface ShareReport {
  /** The relay, in the form of `server_uri`: `unix:/path`. */
  readonly address: string;
  /** The management servers of the relay, as those of the bootstrap of this process; see `RelayReport.upstream`. */
  readonly upstream: string;
  /** `unused` until a channel or a server needs the relay, `electing` while it is looked for. */
  readonly state: 'unused' | 'electing' | 'ready' | 'unavailable';
  /** Why it cannot be used; only if the state is `unavailable`. */
  readonly reason?: string;
  /** `relay` if this process serves the others, `client` if it is served, otherwise `none`. */
  readonly role: 'relay' | 'client' | 'none';
  /** The process that is the relay; only if it is known. */
  readonly pid?: number;
  /** Since when this process has used this relay, in ISO 8601; only if it is known. */
  readonly since?: string;
  /** How often another relay has replaced an earlier one. */
  readonly takeovers: number;
  /** The discovery streams of the clients of the relay, including this process; only if the role is `relay`. */
  readonly clients?: number;
  /** The same in one line, for people. */
  readonly text: string;
}

/** Describes a share in one line. */
export function describeShare({
  address,
  state,
  reason,
  role,
  pid,
  since,
  takeovers,
}: Omit<ShareReport, 'text'>): string {
  if (state !== 'ready') return `${address}: ${reason ?? state}`;
  const relay = role === 'relay' ? 'this process is the relay' : `relay (pid ${pid ?? '?'})`;
  const from = since === undefined ? '' : ` since ${since}`;
  return `${address}: ${relay}${from}, ${takeovers === 1 ? '1 takeover' : `${takeovers} takeovers`}`;
}
