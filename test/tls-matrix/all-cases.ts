import { chainCases } from './cases/chains';
import { changeCases } from './cases/changes';
import { clientCertificateCases } from './cases/certificates-of-clients';
import { configurationCases } from './cases/configurations';
import { credentialsCases } from './cases/credentials';
import { environmentCases } from './cases/environment';
import { keyCases } from './cases/keys';
import { nameCases } from './cases/names';
import { protocolCases } from './cases/protocols';
import { serverNameCases } from './cases/server-names';
import { spiffeCases } from './cases/spiffe';
import type { TlsCase } from './tls-case';

/** The whole matrix. */
export const ALL_CASES: readonly TlsCase[] = [
  ...chainCases,
  ...keyCases,
  ...nameCases,
  ...serverNameCases,
  ...spiffeCases,
  ...clientCertificateCases,
  ...protocolCases,
  ...configurationCases,
  ...credentialsCases,
  ...changeCases,
  ...environmentCases,
];

/** The title of a case, which is unique. */
export function titleOf({ group, name }: TlsCase): string {
  return `${group}: ${name}`;
}

/** Every n-th case that does not wait for a time limit, counted within each group so that all groups are there. */
export function sampleOf(cases: readonly TlsCase[], n: number): readonly TlsCase[] {
  const counts = new Map<string, number>();
  if (n === 1) return cases;
  return cases.filter(({ group, isSlow = false }) => {
    const count = counts.get(group) ?? 0;
    counts.set(group, count + 1);
    return count % n === 0 && !isSlow;
  });
}
