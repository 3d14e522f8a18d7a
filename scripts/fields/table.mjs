// Makes the table of fields of what probe.mjs has found.
import { shortName } from './probe.mjs';

/** The messages whose fields are JSON or scalars. */
const isMessage = ({ message }) =>
  message !== undefined && !/^google\.protobuf\./.test(message.typeName);

/** A field is used if anything in it is. Any are left out: what is in one is in others too. */
const raiseParents = (nodes) => {
  let hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (const { desc, verdicts, below } of nodes.values()) {
      for (const field of desc.fields) {
        if (verdicts.get(field.name) !== 'checked' || !isMessage(field)) continue;
        const inside = [...below.get(field.name)].map((key) => nodes.get(key));
        if (!inside.some((node) => [...node.verdicts.values()].includes('used'))) continue;
        verdicts.set(field.name, 'used');
        hasChanged = true;
      }
    }
  }
};

/** The nodes that are read: those of resources and of Any, and what is in fields of theirs that are not ignored. */
const reachable = (nodes) => {
  const found = new Map();
  const visit = (key) => {
    const node = nodes.get(key);
    if (node === undefined || found.has(key)) return;
    found.set(key, node);
    for (const [name, keys] of node.below) {
      if (/^(used|checked)$/.test(node.verdicts.get(name))) keys.forEach(visit);
    }
  };
  for (const [key, node] of nodes) if (isRoot(node)) visit(key);
  return found;
};

/** Applies what a flag changes: the fields that nothing is done with unless it is set. */
const addFlag = (nodes, flag, flagged) => {
  for (const [key, node] of flagged) {
    const known = nodes.get(key);
    if (known === undefined) nodes.set(key, { ...node, flag, flags: new Map() });
    else {
      for (const [name, keys] of node.below) {
        known.below.set(name, new Set([...known.below.get(name), ...keys]));
        const verdict = node.verdicts.get(name);
        if (known.verdicts.get(name) !== 'ignored' || verdict === 'ignored') continue;
        known.verdicts.set(name, verdict);
        known.flags.set(name, flag);
      }
    }
  }
};

/**
 * Completes what seeds.yaml does not set in every place: what is in a field there is as in another place. If it is set in none,
 * what is done with its fields is not known.
 */
const completePlaces = (nodes) => {
  for (const { desc, verdicts, below, place } of nodes.values()) {
    for (const field of desc.fields) {
      if (!isMessage(field) || field.message.fields.length === 0) continue;
      if (below.get(field.name).size > 0 || !/^(used|checked)$/.test(verdicts.get(field.name)))
        continue;
      const other = [...nodes.values()].find(
        (node) => node.desc === desc && node.below.get(field.name).size > 0,
      );
      if (other === undefined) {
        throw new Error(`fields: no resource of seeds.yaml sets ${field.name} of ${place.path}`);
      }
      below.set(field.name, other.below.get(field.name));
    }
  }
};

/** Combines what was found without and with flags. @returns the messages in their places. */
export const combine = (byFlag, notes) => {
  const nodes = new Map();
  for (const [flag, found] of byFlag) {
    for (const node of found.values()) applyNotes(node, notes);
    raiseParents(found);
    addFlag(nodes, flag === '' ? undefined : flag, found);
  }
  completePlaces(reachable(nodes));
  return reachable(nodes);
};

const applyNotes = ({ desc, verdicts }, notes) => {
  for (const field of desc.fields) {
    const { status } = noteOf(desc, field, notes);
    if (status !== undefined) verdicts.set(field.name, status);
  }
};

/** That of the field, with the gRFC of the message. */
const noteOf = (desc, field, notes) => {
  const message = notes[shortName(desc.typeName)] ?? {};
  const own = notes[`${shortName(desc.typeName)}.${field.name}`] ?? {};
  return { ...message, ...own };
};

/** The statuses of a field, with the places of each. */
const placesByStatus = (nodes, field) => {
  const byStatus = new Map();
  const flagOfAll = nodes.every(({ flag }) => flag !== undefined) ? nodes[0].flag : undefined;
  for (const { verdicts, place, flags } of nodes) {
    const status = verdicts.get(field.name);
    const variable = status === 'ignored' ? undefined : (flags.get(field.name) ?? flagOfAll);
    const key = JSON.stringify([status, variable]);
    const entry = byStatus.get(key) ?? { status, flag: variable, places: [] };
    entry.places.push(place.path);
    byStatus.set(key, entry);
  }
  // The first one is that of most places, and is said of all that are not named.
  return [...byStatus.values()].sort(
    (a, b) =>
      b.places.length - a.places.length ||
      Number(a.status === 'ignored') - Number(b.status === 'ignored'),
  );
};

/** @returns the rows of the table: by message, in the order of the fields in the schema. */
export const rowsOf = (nodes, notes, sinceOf) => {
  const byMessage = new Map();
  for (const node of nodes.values()) {
    const { typeName } = node.desc;
    byMessage.set(typeName, [...(byMessage.get(typeName) ?? []), node]);
  }
  return [...byMessage.values()].flatMap((places) => {
    const [{ desc }] = places;
    return desc.fields.flatMap((field) => {
      const { grfc, note, label, effect } = noteOf(desc, field, notes);
      return placesByStatus(places, field).map(({ status: found, flag, places: paths }, index) => {
        const status = effect ?? found;
        const row = {
          message: desc.typeName,
          field: field.name,
          number: field.number,
          status,
          ...(index > 0 && { places: paths }),
          ...(flag !== undefined && { flag }),
          ...(status !== 'ignored' && grfc !== undefined && { grfc }),
          ...(note !== undefined && { note }),
          ...(status === 'ignored' && label === true && { label }),
        };
        return { ...row, since: sinceOf(row) };
      });
    });
  });
};

/** An entry for a field that there is not would never be seen. */
export const checkNotes = (nodes, notes) => {
  const known = new Set();
  for (const { desc } of nodes.values()) {
    known.add(shortName(desc.typeName));
    for (const { name } of desc.fields) known.add(`${shortName(desc.typeName)}.${name}`);
  }
  const unknown = Object.keys(notes).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`fields: notes.yaml names ${unknown.join(', ')}`);
};

/** The texts that are used in part. */
const PARTLY = new Set(['retry_on']);

/** The variable that log lines name with the fields that need it. */
const NAMED_FLAG = 'GRPC_XDS_NODE_ENVOY_FEATURES';

const SUFFIXES = { list: '[]', map: '{}' };

/** The fields of a message that have no effect, and those that lead to such: with what is in them. */
const describeNode = ({ desc, verdicts, below, flags }, notes, names) =>
  desc.fields.flatMap((field) => {
    const { name, number, fieldKind } = field;
    if (verdicts.get(name) === 'ignored') {
      return noteOf(desc, field, notes).label === true ? [] : [{ text: `${name}:${number}` }];
    }
    if (flags.get(name) === NAMED_FLAG && noteOf(desc, field, notes).label !== true) {
      return [{ text: `${name}:${number}:?` }];
    }
    const text = `${name}${SUFFIXES[fieldKind] ?? ''}:${number}:`;
    if (field.message?.typeName === 'google.protobuf.Any') return [{ text: `${text}@` }];
    if (PARTLY.has(name)) return [{ text: `${text}~` }];
    const target = [...below.get(name)]
      .map((key) => names.get(key))
      .find((key) => key !== undefined);
    return isMessage(field) && target !== undefined ? [{ text, target }] : [];
  });

const isRoot = ({ place }) => !place.path.includes('.');

/** Messages of resources and of Any first, since they are looked up by their names. */
const rootsFirst = (nodes) =>
  [...nodes].sort(([, a], [, b]) => Number(isRoot(b)) - Number(isRoot(a)));

/** Keeps the messages that have fields without effect in them, at any depth. */
const pruned = (nodes, notes) => {
  const kept = new Map();
  const keep = () => {
    const before = kept.size;
    for (const [key, node] of nodes)
      if (describeNode(node, notes, kept).length > 0) kept.set(key, key);
    return kept.size > before;
  };
  while (keep());
  return rootsFirst(nodes).filter(([key]) => kept.has(key));
};

/**
 * Names messages, those with the same fields without effect alike: begins with one name for each type, and splits what is
 * different in it until nothing is.
 */
const mergeEqual = (nodes, notes) => {
  const all = pruned(nodes, notes);
  let names = new Map(all.map(([key, { desc }]) => [key, desc.typeName]));
  for (;;) {
    const next = new Map();
    const firsts = new Map();
    for (const [key, node] of all) {
      const id = JSON.stringify([names.get(key), describeNode(node, notes, names)]);
      if (!firsts.has(id)) firsts.set(id, key);
      next.set(key, firsts.get(id));
    }
    if (firsts.size === new Set(names.values()).size) return next;
    names = next;
  }
};

/**
 * Returns for each message the fields without effect, and those with such in them: `name:number` for the former,
 * `name:number:message` for the latter, where the name has `[]` after it for a list and `{}` for a map, and the message is
 * `@` for an Any, `~` for a text that is used in part, and `?` for what is used with {@link NAMED_FLAG}. A message of which other fields are ignored in other places has
 * several names.
 */
export const ignoredFields = (nodes, notes) => {
  const names = mergeEqual(nodes, notes);
  const count = new Map();
  const short = new Map();
  for (const key of new Set(rootsFirst(nodes).flatMap(([key]) => names.get(key) ?? []))) {
    const { typeName } = nodes.get(key).desc;
    const n = (count.get(typeName) ?? 0) + 1;
    count.set(typeName, n);
    short.set(key, n === 1 ? typeName : `${typeName}#${n}`);
  }
  return [...short].map(([key, name]) => {
    const fields = describeNode(nodes.get(key), notes, names);
    const texts = fields.map(({ text, target }) => (target ? text + short.get(target) : text));
    return [name, texts.join(' ')];
  });
};
