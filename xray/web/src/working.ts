// The right half of the machine: handlers, queues, workers and writes.

import { type Event, key } from './event'
import { type Controller, type Machine, type Recent, recently, type Write } from './machine'
import { count } from './rate'

const keptWrites = 30

export function noteWorking(m: Machine, e: Event) {
  switch (e.kind) {
    case 'predicate': case 'handler':
      return handle(m, e)
    case 'enqueue': case 'delay': case 'dequeue': case 'done':
      return queue(m, e)
    case 'reconcile start': case 'reconcile end':
      return reconcile(m, e)
    case 'write':
      return write(m, e)
  }
}

function recent(c: Controller, k: string): Recent {
  let r = c.recent.get(k)
  if (!r) {
    r = { ended: [], echoed: false, wrote: false, asked: '', by: '', askedVersion: '', askedByEcho: false, lastWrite: '' }
    c.recent.set(k, r)
    if (c.recent.size > 2000) c.recent.delete(c.recent.keys().next().value!)
  }
  return r
}

function handle(m: Machine, e: Event) {
  const c = m.controller(e.layer)
  const s = m.source(c, e.object)
  if (e.kind === 'predicate') {
    if (e.outcome !== 'filtered') return // the handler says the rest
    s.filtered++
    s.filteredBy = e.reason || s.filteredBy
    return
  }
  s.passed++
  s.lastAt = e.at
  if (!e.toName) return
  const r = recent(c, key(e.toNamespace, e.toName))
  const object = key(e.namespace, e.name)
  if (object === key(e.toNamespace, e.toName)) c.own.add(e.object)
  r.asked = `${e.object} ${object}`
  r.askedVersion = e.version
  r.askedByEcho = c.writes.some((w) => w.kind === e.object && w.key === object && w.version === e.version)
}

function queue(m: Machine, e: Event) {
  const c = m.controller(e.layer)
  const k = key(e.namespace, e.name)
  c.kind ||= e.object
  switch (e.kind) {
    case 'enqueue': {
      const there = c.waiting.get(k)
      if (e.outcome === 'deduplicated') {
        c.merged++
        if (there) there.merged++
        return
      }
      c.waiting.set(k, { key: k, since: e.at, reason: e.reason || c.recent.get(k)?.asked || '', merged: 0 })
      const delay = c.delayed.get(k)
      if (delay && delay.until <= e.at + 1) c.delayed.delete(k)
      return
    }
    case 'delay':
      if (e.outcome === 'deduplicated') return
      c.delayed.set(k, { key: k, since: e.at, until: e.at + e.took, reason: e.reason })
      return
    case 'dequeue': {
      const reason = c.waiting.get(k)?.reason ?? ''
      if (!c.waiting.delete(k) && c.beyond > 0) c.beyond--
      c.running.set(k, { key: k, since: e.at, reason, causes: 0, doing: '' }) // a queue may have workers of its own
      return
    }
    case 'done':
      c.running.delete(k)
  }
}

function reconcile(m: Machine, e: Event) {
  const c = m.controller(e.layer)
  const k = key(e.namespace, e.name)
  c.kind ||= e.object
  const r = recent(c, k)
  if (e.kind === 'reconcile start') {
    c.waiting.delete(k)
    c.running.set(k, { key: k, since: e.at, reason: e.reason || r.asked, causes: e.count, doing: '' })
    c.mostRunning = Math.max(c.mostRunning, c.running.size)
    if (!m.replaying) count(c.reconciles, e.at)
    r.echoed = r.askedByEcho
    r.by = r.asked
    r.wrote = r.askedByEcho = false
    return
  }
  c.running.delete(k)
  r.ended.push({ at: e.at, loop: r.echoed && r.wrote, idle: !r.wrote, by: r.by })
  while (r.ended[0]!.at < e.at - recently) r.ended.shift()
  if (e.outcome === 'failed' || e.outcome === 'given up') {
    c.failed++
    const before = c.failing.get(k)
    c.failing.set(k, {
      key: k, times: m.replaying ? Math.max(1, e.count) : (before?.times ?? 0) + 1, since: before?.since ?? e.at, last: e.at,
      outcome: e.outcome, reason: e.reason,
    })
  } else {
    c.succeeded++
    c.failing.delete(k)
  }
}

function write(m: Machine, e: Event) {
  const c = m.controller(e.layer)
  const object = `${e.object} ${key(e.namespace, e.name)}`
  const w: Write = {
    seq: e.seq, at: e.at, verb: e.op, kind: e.object, key: key(e.namespace, e.name), version: e.version,
    outcome: e.outcome, reason: e.reason, took: e.took, to: key(e.toNamespace, e.toName), echo: 0,
  }
  c.writes.push(w)
  if (c.writes.length > keptWrites) c.writes.shift()
  const running = c.running.get(w.to)
  if (running) running.doing = `${w.verb} ${w.kind}`
  if (w.to) {
    const r = recent(c, w.to)
    r.wrote = true
    r.lastWrite = `${w.verb} ${w.kind} ${w.key}`
    if (r.asked === object && r.askedVersion === w.version) r.askedByEcho = true // before the answer came
  }
  if (w.outcome) return // it has changed nothing
  const seen = m.versions.get(object)
  if (seen && (seen.gone ? w.verb !== 'create' : seen.version === w.version && w.version !== '')) { // the watch was faster than the answer
    w.echo = seen.at
    const watched = m.watched.get(w.kind)
    if (watched) watched.echoAt = Math.max(watched.echoAt, seen.at)
    return
  }
  const writes = m.unseen.get(object) ?? []
  writes.push(w)
  if (writes.length > 10) writes.shift()
  m.unseen.set(object, writes)
  if (m.unseen.size > 5000) m.unseen.delete(m.unseen.keys().next().value!)
}
