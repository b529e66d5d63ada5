// What is wrong, in sentences. Each says what is stuck, why, and what to do.

import { oneLine, plural, pluralOf, span } from './event'
import { type Controller, kindsOf, type Machine, recently, type Recent, type Watched } from './machine'

export interface Trouble {
  id: string // the same trouble has the same one
  about: string // the kind or the controller
  kinds: string[] // of the object
  key: string // of the request; may be empty
  text: string
  byReconcile?: boolean // because it takes long
  works?: boolean // nothing is stuck: it does its work, and more than it has to
}

const starting = 30_000 // what isn't ready may just be starting
const slow = 5_000 // a reconcile that takes longer blocks a worker
const often = 20 // reconciles in ten seconds
const costly = 50 // of those that write nothing: fewer cost nothing, and a rollout makes as many
const persistent = 3 // failures in a row

export function troubles(m: Machine, now: number): Trouble[] {
  const all: Trouble[] = []
  for (const w of m.watched.values()) if (w.state === 'failing') all.push(failingWatch(w, now))
  for (const w of m.watched.values()) all.push(...blockedDeletions(m, w, now))
  for (const lease of m.leases.values()) {
    if (lease.op === 'acquired' || lease.op === 'renewed' || lease.op === 'released') continue
    all.push({
      id: `lease ${lease.layer}`, about: 'Lease', kinds: ['Lease'], key: lease.key,
      text: `This process does not lead, so its controllers do nothing: the lease ${lease.key} is ` +
        (lease.op === 'observed' ? 'held by another one' : lease.op) +
        `${lease.reason ? ` (${lease.reason})` : ''}. Two managers with one lease take turns; give each program a lease of its own.`,
    })
  }
  for (const c of m.controllers.values()) all.push(...ofController(c, now))
  return all
}

function failingWatch(w: Watched, now: number): Trouble {
  const rule = missingRule(w.reason)
  const next = w.retryAt > now ? ` The next attempt is in ${span(w.retryAt - now)}.` : ''
  const text = rule
    ? `Waiting for the list of ${pluralOf(w.kind)}: forbidden. The rule that is missing is ${rule}.`
    : `The watch of ${pluralOf(w.kind)} fails: ${oneLine(w.reason)}.`
  return { id: `watch ${w.kind}`, about: w.kind, kinds: [w.kind], key: '', text: text + next }
}

/** blockedDeletions is about objects that stay, because nobody is going to remove the finalizer. */
function blockedDeletions(m: Machine, w: Watched, now: number): Trouble[] {
  const busy = (k: string) => [...m.controllers.values()].some((c) => kindsOf(c).includes(w.kind) &&
    (c.waiting.has(k) || c.running.has(k) || c.failing.has(k) || (c.delayed.get(k)?.until ?? 0) > now))
  const stuck = [...w.blocked.values()].filter((b) => now - b.since > slow && !busy(b.key))
  const first = stuck[0]
  if (!first) return []
  const more = stuck.length > 1 ? ` The same holds for ${plural(stuck.length - 1, 'more object')}.` : ''
  return [{
    id: `blocked ${w.kind}`, about: w.kind, kinds: [w.kind], key: first.key,
    text: `The finalizer ${first.finalizer} has blocked the deletion of ${w.kind} ${first.key} for ${span(now - first.since)}, ` +
      'and no controller of this program is going to reconcile it. The controller that set it has to remove it.' + more,
  }]
}

/** missingRule makes the rule out of what an API server says: it names all that the rule needs. */
export function missingRule(reason: string): string {
  const said = /User "([^"]*)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/.exec(reason)
  if (!said) return ''
  const [, user, , resource, group, namespace] = said
  return `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: [list, watch]} ` +
    (namespace ? `in a Role in the namespace ${namespace}` : 'in a ClusterRole') + `, bound to ${user}`
}

function ofController(c: Controller, now: number): Trouble[] {
  const all: Trouble[] = []
  const add = (id: string, key: string, text: string) =>
    all.push({ id: `${c.name} ${id} ${key}`, about: c.name, kinds: kindsOf(c), key, text, byReconcile: id === 'blocked' || id === 'slow', works: id === 'idle' })
  const running = [...c.running.values()].filter((r) => now - r.since > slow).sort((a, b) => a.since - b.since)
  const waiting = [...c.waiting.values()]
  const oldest = Math.min(...waiting.map((w) => w.since))
  if (running[0] && waiting.length > 0 && now - oldest > slow) {
    add('blocked', running[0].key,
      `${plural(waiting.length, 'request')} of ${c.name} wait${waiting.length === 1 ? 's' : ''}, the first for ${span(now - oldest)}, because ` +
      `${running.length === 1 ? 'its worker reconciles' : `${running.length} workers reconcile, the longest`} ` +
      `${running[0].key} for ${span(now - running[0].since)}. Add workers, or do not wait in a reconcile: return, and ask to be called again.`)
  } else if (running[0]) {
    add('slow', running[0].key, `${c.name} has been reconciling ${running[0].key} for ${span(now - running[0].since)}` +
      `${running[0].doing ? `, after a ${running[0].doing}` : ''}.`)
  }
  for (const [k, r] of c.recent) {
    const ended = r.ended.filter((one) => one.at > now - recently)
    const times = ended.length
    if (times < often) continue
    const most = (what: (one: Recent['ended'][number]) => boolean) => ended.filter(what).length > times * 0.8
    const rate = `${c.name} has reconciled ${k} ${times} times in 10 s`
    if (most((one) => one.loop)) {
      add('hot', k, `${rate}, mostly because of its own writes: each ${r.lastWrite} comes back as an event that asks for the next reconcile. ` +
        'Write only if something has changed, or filter with a predicate such as GenerationChanged.')
    } else if (times >= costly && r.asked && most((one) => one.idle && one.by === r.asked)) {
      add('idle', k, `${rate}, and most of them wrote nothing: each change of ${r.asked} asks for one. ` +
        'A predicate is missing that lets through only changes that matter.')
    }
  }
  const failing = [...c.failing.values()].filter((f) => f.times >= persistent || f.outcome === 'given up')
    .sort((a, b) => b.times - a.times)
  for (const f of failing.slice(0, 3)) {
    const until = c.delayed.get(f.key)?.until ?? 0
    add('failing', f.key, `${c.name} has failed ${plural(f.times, 'time')} in a row to reconcile ${f.key}: ${oneLine(f.reason)}.` +
      (f.outcome === 'given up' ? ' It is not tried again until something changes.' : '') +
      (until > now ? ` The next attempt is in ${span(until - now)}.` : ''))
  }
  if (failing.length > 3) add('failing', '', `${failing.length - 3} more requests of ${c.name} fail again and again.`)
  return all
}

/** Report is what an object says of itself: the machinery is fine, and it isn't getting anywhere. */
export interface Report {
  kind: string
  key: string
  reason: string
  since: number // milliseconds, for so long
  more: number // objects of its kind that say something like it
}

/** reports has one entry for each kind whose objects aren't getting anywhere. */
export function reports(m: Machine, now: number): Report[] {
  const all: Report[] = []
  for (const w of m.watched.values()) {
    const stalled = [...w.stalled.values()].filter((s) => now - s.since > starting || !/^(Ready|Available)$/.test(s.condition))
    const first = stalled.sort((a, b) => a.since - b.since)[0]
    if (first) all.push({ kind: w.kind, key: first.key, reason: oneLine(first.reason), since: now - first.since, more: stalled.length - 1 })
  }
  return all
}
