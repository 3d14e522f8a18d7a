// Every field of a resource in proto3 JSON, changed in every way that its kind of value allows.
import { typed } from '../harness/resources.mjs';

const DURATION = /^-?\d+(\.\d+)?s$/;
const ENUM = /^[A-Z][A-Z0-9_]+$/;

/** Fields that are maps, whose keys may be empty. */
const MAPS = new Set(['typed_per_filter_config', 'filter_metadata', 'policies', 'fields']);

const changesOfText = (text) => {
  if (DURATION.test(text)) return { 'is 0 s': '0s', 'is negative': '-1s' };
  if (ENUM.test(text)) return { 'is an unknown number': 99, 'is number 0': 0 };
  const upper = text.toUpperCase();
  return { 'is empty': '', ...(upper !== text && { 'is in capitals': upper }) };
};

const changesOfNumber = (number) => ({
  ...(number !== 0 && { 'is 0': 0 }),
  'is 65536': 65_536,
  'is 2^32 - 1': 4_294_967_295,
});

const emptyOf = (value) => {
  if (typeof value === 'object') return {};
  return typeof value === 'number' || ENUM.test(value) ? 0 : '';
};

const changesOfList = (list) => ({
  'is empty': [],
  'has its first entry twice': [...list, list[0]],
  'has an empty entry': [...list, emptyOf(list[0])],
});

const changesOfMessage = (message, field) => {
  const { '@type': type } = message;
  if (type !== undefined) {
    const struct = typed('xds.type.v3.TypedStruct', { type_url: type, value: {} });
    return {
      'is empty': { '@type': type },
      'is of no type': {},
      'is of an unknown type': typed('interop.test.Unknown'),
      'is a TypedStruct': struct,
    };
  }
  const [first] = Object.values(message);
  return { 'is empty': {}, ...(MAPS.has(field) && { 'has an empty key': { '': first } }) };
};

/** The changes of a value, by what they are. */
const changesOf = (value, field) => {
  const unset = { 'is unset': undefined };
  if (typeof value === 'string') return { ...unset, ...changesOfText(value) };
  if (typeof value === 'number') return { ...unset, ...changesOfNumber(value) };
  if (typeof value === 'boolean') return { ...unset, [`is ${!value}`]: !value };
  if (Array.isArray(value)) return { ...unset, ...changesOfList(value) };
  return { ...unset, ...changesOfMessage(value, field) };
};

/** The parts of a value, each with a function that puts another one in its place. */
const partsOf = (value) => {
  if (Array.isArray(value)) {
    return value.map((part, i) => [`[${i}]`, part, (other) => value.with(i, other)]);
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .filter(([field, part]) => field !== '@type' && part !== undefined)
    .map(([field, part]) => [`.${field}`, part, (other) => ({ ...value, [field]: other })]);
};

/**
 * Returns what becomes of a resource by one change of one of its fields: the path of the field, its value, and the change.
 * @param skip Paths of fields that stay as they are.
 */
const mutationsOf = (resource, skip = []) => {
  const mutations = [];
  const visit = (value, path, replace) => {
    for (const [step, part, put] of partsOf(value)) {
      const here = `${path}${step}`.replace(/^\./, '');
      if (skip.includes(here)) continue;
      const replaceHere = (other) => replace(put(other));
      const field = step.slice(1);
      for (const [change, other] of Object.entries(changesOf(part, field))) {
        if (step.startsWith('[') && other === undefined) continue;
        mutations.push({ path: here, change, value: part, resource: replaceHere(other) });
      }
      visit(part, here, replaceHere);
    }
  };
  visit(resource, '', (whole) => whole);
  return mutations;
};

/**
 * Returns resources and their mutations, each once: a field that is in several places is changed in the first.
 * @param resources By title, as functions of `at`.
 */
export const mutatedVariants = (resources, at, skip) => {
  const seen = new Set();
  const variants = {};
  for (const [title, make] of Object.entries(resources)) {
    variants[title] = make;
    for (const { path, change, value } of mutationsOf(make(at), skip)) {
      const key = [path.replaceAll(/\[\d+\]/g, ''), change, value?.['@type']].join(' ');
      if (seen.has(key)) continue;
      seen.add(key);
      variants[`${title}: ${path} ${change}`] = (name) =>
        mutationsOf(make(name), skip).find((each) => each.path === path && each.change === change)
          .resource;
    }
  }
  return variants;
};
