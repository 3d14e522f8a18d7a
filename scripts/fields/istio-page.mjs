// Writes the page about Istio's API: which fields of Envoy's API istiod sends for each field (istio.yaml), and what the client does with
// them (the table of fields).
import { shortName } from './probe.mjs';

const BY = {
  istiod: 'used by istiod',
  nobody: 'not sent',
};

const HEAD = `# What Istio's configuration does here

<!-- Written by scripts/fields.mjs. -->

Which fields of \`VirtualService\`, \`DestinationRule\`, \`PeerAuthentication\` and \`AuthorizationPolicy\` work without a sidecar? istiod turns
them into fields of Envoy's API. The column _istiod sends_ follows istiod's sources of August 2026 (its generator for gRPC). The status is
that of the field in [Fields of resources](fields.md), a table made by trying every field; where only some values work, the remark says which.

| Status | Meaning |
| --- | --- |
| used, checked, refused, ignored | As in [Fields of resources](fields.md). |
| used by istiod | istiod uses it to decide what to send. |
| not sent | istiod does not send it to gRPC, so it has no effect. |`;

/** Returns the rows of a field of Envoy's API: more than one if its status depends on the place or on a flag. */
const rowsOf = (rows, name) => {
  const found = rows.filter((row) => {
    const full = `${shortName(row.message)}.${row.field}`;
    return (full === name || full.endsWith(`.${name}`)) && row.places === undefined;
  });
  if (found.length === 0) throw new Error(`istio.yaml: the table of fields has no ${name}`);
  return found;
};

const statusOf = ({ status, flag }) =>
  flag === undefined ? status : `${status} with \`${flag}=true\``;

/** Joins the statuses of the fields that istiod sets: one if all have the same. */
const joinStatuses = (rows, names) => {
  const statuses = names.map((name) => rowsOf(rows, name).map(statusOf).join(', '));
  if (new Set(statuses).size <= 1) return statuses[0];
  return names.map((name, i) => `\`${name}\` ${statuses[i]}`).join('; ');
};

const toLine = (rows, field, { to, by, status, note }) => {
  const sent = to === undefined ? '' : to.map((name) => `\`${name}\``).join(', ');
  const found = to === undefined ? BY[by] : joinStatuses(rows, to);
  const remark = note === undefined ? '' : `. ${note}`;
  return `| \`${field}\` | ${sent} | ${status ?? found}${remark} |`;
};

export const toIstioPage = (rows, kinds) => {
  const sections = Object.entries(kinds).map(([kind, fields]) => {
    const lines = Object.entries(fields).map(([field, entry]) => toLine(rows, field, entry));
    return `## ${kind}\n\n| Field | istiod sends | Status |\n| --- | --- | --- |\n${lines.join('\n')}`;
  });
  return `${HEAD}\n\n${sections.join('\n\n')}\n`;
};
