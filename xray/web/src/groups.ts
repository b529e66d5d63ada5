// What the picture shows in which order: controllers with several queues are one, and what works or is
// stuck comes first.

import { type Controller, kindsOf, type Machine, namedAfter, type Watched } from './machine'
import { last } from './rate'
import type { Trouble } from './troubles'

/** Group is a controller with all its queues. */
export interface Group {
  name: string
  queues: Controller[]
}

/**
 * groups puts the queues of one controller together: garbage-pod and garbage-deployment are queues of
 * garbage, and job-orphans is one of job.
 */
export function groups(m: Machine): Group[] {
  const all = [...m.controllers.values()].filter((c) => !onlyWrites(c))
  const owner = (c: Controller) => {
    const prefix = c.name.slice(0, c.name.indexOf('-'))
    if (!c.name.includes('-')) return c.name
    const ofAKind = (other: Controller) => other.name.startsWith(`${prefix}-`) && [...m.watched.keys()].some((kind) => namedAfter(other.name, kind))
    return m.controllers.has(prefix) || ofAKind(c) && all.filter(ofAKind).length > 1 ? prefix : c.name
  }
  const found = new Map<string, Group>()
  for (const c of all) {
    const name = owner(c)
    const group = found.get(name) ?? { name, queues: [] }
    group.queues.push(c)
    found.set(name, group)
  }
  return [...found.values()]
}

/** A client that no reconcile uses, or an elector. */
export const onlyWrites = (c: Controller) => c.writes.length > 0 && c.sources.size === 0 && c.reconciles.total === 0 && c.waiting.size === 0

/** isGeneral is true of a controller that looks after all kinds of objects, like a garbage collector. */
export const isGeneral = (g: Group) => new Set(g.queues.flatMap(kindsOf)).size > 2

const settles = 15 // seconds after which a controller that works no more gives its place away

export const isStuck = (g: Group, troubles: Trouble[]) => g.queues.some((c) => troubles.some((t) => t.about === c.name && !t.works))

export const works = (g: Group, now: number) => g.queues.some((c) => c.waiting.size + c.beyond + c.running.size > 0)
  || g.queues.some((c) => last(c.reconciles, settles, now).some((n) => n > 0))

/** byUrgency is the order of controllers: what is stuck, what works, and then as they came. A garbage collector works whenever others do. */
export function byUrgency(all: Group[], troubles: Trouble[], now: number): Group[] {
  const rank = (g: Group) => (isStuck(g, troubles) ? 0 : !works(g, now) ? 3 : isGeneral(g) ? 2 : 1)
  return all.map((g) => ({ g, rank: rank(g) })).sort((a, b) => a.rank - b.rank).map(({ g }) => g)
}

const fewKinds = 6 // for which there is room, with or without objects

/** kindsByUse splits the kinds into those that are worth a place, and the others. */
export function kindsByUse(m: Machine, troubles: Trouble[], most: number): { shown: Watched[]; folded: Watched[] } {
  const stuck = (w: Watched) => troubles.some((t) => t.about === w.kind)
  const all = [...m.watched.values()]
  const used = all.length <= fewKinds ? all : all.filter((w) => w.objects !== 0 || stuck(w) || w.state !== 'watching' && w.state !== 'listed')
  const busiest = [...used].sort((a, b) => Number(stuck(b)) - Number(stuck(a)) || b.events.total - a.events.total).slice(0, most)
  const shown = used.filter((w) => busiest.includes(w)).sort((a, b) => Number(stuck(b)) - Number(stuck(a)))
  return { shown, folded: all.filter((w) => !shown.includes(w)) }
}
