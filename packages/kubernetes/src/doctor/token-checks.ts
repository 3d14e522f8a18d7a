import { readRegularText } from '../../../../src/util/read-regular-file';
import { quoteText } from '../../../../src/util/text';
import { MAX_TOKEN_LENGTH } from '../access/access-limits';
import { readTokenClaims } from '../access/token-claims';
import { reviewToken, type ReviewedToken } from '../access/token-review';
import type { KubernetesApi } from '../api/kubernetes-api';
import type { OnFinding } from './kubernetes-finding';

/** Checks whether a control plane with an audience would accept the token in a file. */
export async function checkToken(
  api: Pick<KubernetesApi, 'call'>,
  {
    path,
    audience,
    nowMs,
  }: { readonly path: string; readonly audience: string; readonly nowMs: number },
  onFinding: OnFinding,
): Promise<void> {
  const found = { check: 'token', subject: `token ${path}` };
  const refuse = (reason: string) =>
    onFinding({
      ...found,
      level: 'fail',
      text: `this token is refused: ${reason}`,
      remedy: `mount a projected service account token with the audience ${quoteText(audience)}, and name its file in call_creds of the bootstrap`,
    });
  const text = readRegularText(path, { maxBytes: MAX_TOKEN_LENGTH });
  if (!text.ok) return refuse(`its file cannot be read: ${text.error}`);
  const token = text.value.trim();
  const claims = readTokenClaims(token, audience, nowMs);
  if (!claims.ok) return refuse(claims.error);
  const reviewed = await new Promise<ReviewedToken>((resolve) => {
    reviewToken(api, token, audience, resolve);
  });
  if (!reviewed.ok) {
    onFinding({ ...found, level: 'skip', text: `cannot be reviewed: ${reviewed.error.message}` });
  } else if (reviewed.value.ok) {
    const { namespace, name } = reviewed.value.value;
    onFinding({
      ...found,
      level: 'ok',
      text: `is that of the service account ${namespace}/${name}`,
    });
  } else refuse(reviewed.value.error.reason);
}
