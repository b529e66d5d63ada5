// The story of one object: everything that happened to it, and why it was reconciled.

import { clock, type Event, key, span } from './event'
import { groups, isGeneral } from './groups'
import { kindsOf, type Machine } from './machine'

/** Chosen is the object whose story is shown. Without kinds, all of that name are meant. */
export interface Chosen { kinds: string[]; name: string }

/** titleOf is what the search field shows, and finds again. */
export const titleOf = ({ kinds, name }: Chosen) => `${kinds.join(' or ')} ${name}`.trim()

export interface Story {
  events: Event[]
  aside: Event[] // what controllers of all kinds did, and what predicates filtered out
  why: string // the last reconcile, in one line
  reconciles: Part[]
  waits: Part[]
  writes: Part[]
}

/** Part is a stretch of time. */
export interface Part {
  from: number
  to: number // 0: not over
  outcome: string
  text: string
}

/**
 * story finds what belongs to an object, in three ways: what is about it; what another object's
 * change, or a reconcile's write, did for it; and how that other object's change came in.
 *
 * A request may have no kind: a Deployment and a Service of one name ask for the same one, of two
 * controllers. Then it belongs to the object that its controller reconciles. What a garbage collector
 * does, which looks at all kinds, is beside the story.
 */
export function story(all: Event[], { kinds, name }: Chosen, machine: Machine): Story {
  const controllers = machine.controllers
  const ours = [...controllers.values()].filter((c) => kindsOf(c).some((kind) => kinds.includes(kind)))
  const general = new Set(groups(machine).filter(isGeneral).flatMap((g) => g.queues.map((c) => c.name)))
  const anothers = (layer: string) => {
    const c = controllers.get(layer)
    return ours.length > 0 && c !== undefined && !ours.includes(c) && kindsOf(c).length > 0
  }
  const sameKind = (kind: string, layer: string) => kinds.length === 0 || (kind ? kinds.includes(kind) : !anothers(layer))
  const about = (e: Event) => e.name !== '' && key(e.namespace, e.name) === name && sameKind(e.object, e.layer)
  const requested = (e: Event) => e.toName !== '' && key(e.toNamespace, e.toName) === name && sameKind(e.toObject, e.layer)
  const isAside = (e: Event) => e.kind === 'predicate' && e.outcome === 'filtered' || general.has(e.layer) && e.kind !== 'write'
  const tied = new Set<string>() // versions of other objects
  for (const e of all) if (requested(e) && e.version && !isAside(e)) tied.add(`${e.object} ${key(e.namespace, e.name)} ${e.version}`)
  const events: Event[] = []
  const aside: Event[] = []
  for (const e of all) {
    if (e.state || !(about(e) || requested(e) || e.kind === 'watch event' && tied.has(`${e.object} ${key(e.namespace, e.name)} ${e.version}`))) continue
    if (isAside(e)) aside.push(e)
    else events.push(e)
  }
  return { events, aside, why: why(events, name), ...parts(events, name) }
}

/** summary is what is beside a story, in one line. */
export function summary(aside: Event[]): string {
  const filtered = aside.filter((e) => e.kind === 'predicate')
  const others = aside.filter((e) => e.kind !== 'predicate')
  const by = (events: Event[]) => [...new Set(events.map((e) => e.layer))].join(', ')
  return [filtered.length > 0 && `${filtered.length} filtered out by predicates of ${by(filtered)}`, others.length > 0 && `${others.length} of ${by(others)}`]
    .filter(Boolean).join(', and ')
}

const changed: Record<string, string> = {
  '': 'changed', update: 'changed', create: 'was created', delete: 'was deleted', 'first listing': 'was in the first list',
}

function why(events: Event[], name: string): string {
  const starts = events.flatMap((e, i) => (e.kind === 'reconcile start' ? [i] : []))
  const last = starts.at(-1)
  if (last === undefined) {
    const write = events.findLast((e) => e.kind === 'write' && key(e.namespace, e.name) === name && e.toName)
    return write ? `${name} is not reconciled itself. ${write.layer} wrote it at ${clock(write.at)}, in the reconcile of ${key(write.toNamespace, write.toName)}.`
      : events.length > 0 ? `${name} is known, but nothing here reconciled it: its last event is of ${clock(events.at(-1)!.at)}.`
        : `Nothing has happened to ${name} in what the recorder still has.`
  }
  const start = events[last]!
  const before = starts.filter((i) => events[i]!.layer === start.layer).at(-2) ?? -1
  const since = events.slice(before + 1, last).filter((e) => e.layer === start.layer || e.kind === 'watch event')
  const causes = since.filter((e) => e.kind === 'handler' && key(e.toNamespace, e.toName) === name)
    .map((e) => `${e.object} ${key(e.namespace, e.name)} ${changed[e.op] ?? `(${e.op})`}${e.version ? ` (version ${e.version})` : ''}`)
  const delay = since.findLast((e) => e.kind === 'delay')
  const taken = since.findLast((e) => e.kind === 'dequeue')
  const because = causes.length ? [...new Set(causes)].slice(-3).join(', ')
    : start.reason || (delay ? `an alarm was set for it ${span(delay.took)} before` : 'of something the recorder no longer has')
  const more = new Set(causes).size - 3
  const over = events.slice(last).some((e) => e.kind === 'reconcile end' && e.layer === start.layer)
  return `${start.layer} ${over ? 'reconciled' : 'has been reconciling'} ${name} ${over ? 'at' : 'since'} ${clock(start.at)} because ${because}` +
    (more > 0 ? ` and ${more} more` : '') + (taken ? `; it had waited ${span(taken.took)} in the queue` : '') + '.'
}

function parts(events: Event[], name: string): Pick<Story, 'reconciles' | 'waits' | 'writes'> {
  const reconciles: Part[] = []
  const waits: Part[] = []
  const writes: Part[] = []
  const open = new Map<string, Part>()
  const begin = (list: Part[], what: string, e: Event) => {
    const part = { from: e.at, to: 0, outcome: '', text: e.text }
    list.push(part)
    open.set(`${what} ${e.layer}`, part)
  }
  const end = (what: string, e: Event) => {
    const part = open.get(`${what} ${e.layer}`)
    open.delete(`${what} ${e.layer}`)
    if (part) Object.assign(part, { to: e.at, outcome: e.outcome, text: e.text })
  }
  for (const e of events) {
    const own = key(e.namespace, e.name) === name
    if (e.kind === 'write') {
      writes.push({ from: e.at - e.took, to: e.at, outcome: e.outcome, text: `${e.object} ${key(e.namespace, e.name)}: ${e.text}` })
    }
    if (!own) continue
    if (e.kind === 'enqueue' && e.outcome !== 'deduplicated') begin(waits, 'wait', e)
    if (e.kind === 'dequeue') end('wait', e)
    if (e.kind === 'reconcile start') begin(reconciles, 'run', e)
    if (e.kind === 'reconcile end') end('run', e)
  }
  return { reconciles, waits, writes }
}
