/** Returns the error of a certificate that must not be used. @param code What the handshake is counted by. */
export function checkFailure(problem: string, code: 'SAN' | 'REVOKED' = 'SAN'): Error {
  return Object.assign(new Error(`certificate check failure: ${problem}`), { code });
}
