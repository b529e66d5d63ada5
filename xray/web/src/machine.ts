// The machine as the events describe it: what is watched, cached, waiting, delayed, running, and
// what has been written. A fold: each event changes the state, and nothing else does. So the same
// code draws a live program, its past, and a file.

import { type Event, key } from './event'

/** The kinds with their caches. */
export interface Watched {
  kind: string
  state: 'listed' | 'watching' | 'streaming' | 'ended' | 'expired' | 'failing'
  since: number // the state
  reason: string // of a failure or an end
  failures: number // in a row
  retryAt: number // 0 is unknown
  version: string
  relists: number
  relistReason: string
  objects: number
  bytes: number // -1 is unknown
  recorded: boolean // the cache itself reports how many objects it has
  events: Rate
  echoAt: number // when a write of this program last came back
  blocked: Map<string, Blocked> // objects that a finalizer keeps from being deleted
}

export interface Blocked {
  key: string
  finalizer: string
  since: number
}

/** A controller: its handlers, its queue, its workers and its writes. */
export interface Controller {
  name: string
  kind: string // empty if it does not know
  own: Set<string> // the kinds whose objects ask for requests of their own names
  sources: Map<string, Source> // by the kind of the object that changed
  waiting: Map<string, Waiting>
  delayed: Map<string, Delayed>
  running: Map<string, Running>
  failing: Map<string, Failing>
  recent: Map<string, Recent> // what each request was reconciled for, lately
  started: boolean
  reconciles: Rate
  succeeded: number
  failed: number
  merged: number
  mostRunning: number // at one time: as many workers there are, at least
  writes: Write[] // the latest ones, newest last
}

export interface Source {
  kind: string
  passed: number
  filtered: number
  filteredBy: string
  lastAt: number
}

export interface Waiting {
  key: string
  since: number
  reason: string
  merged: number
}

export interface Delayed {
  key: string
  since: number
  until: number
  reason: string
}

export interface Running {
  key: string
  since: number
  reason: string
  causes: number
  doing: string // its latest write
}

export interface Failing {
  key: string
  times: number
  since: number
  last: number
  outcome: string
  reason: string
}

/** Recent is for what happens too often. */
export interface Recent {
  ended: { at: number; loop: boolean; idle: boolean }[] // in the last ten seconds
  echoed: boolean // the echo of an own write asked for the reconcile that runs
  wrote: boolean // in the reconcile that runs
  asked: string // the object whose change asked last
  askedVersion: string
  askedByEcho: boolean // for the next one
  lastWrite: string
}

export interface Write {
  seq: number
  at: number
  verb: string
  kind: string
  key: string
  version: string
  outcome: string
  reason: string
  took: number
  to: string // the request of its reconcile
  echo: number // when it came back; 0 is not yet
}

export interface Lease {
  key: string
  op: string
  at: number
  layer: string
  reason: string
}

/**
 * kindsOf are the kinds that a controller's requests are about. The controllers of mini do not
 * record it, so it is found out: these kinds' objects ask for requests of their own names.
 */
export const kindsOf = (c: Controller): string[] => c.kind ? [c.kind] : [...c.own].sort()

/** Rate counts by the second, for the last half minute. */
export class Rate {
  private counts: number[] = []
  private second = 0
  total = 0
  lastAt = 0

  add(at: number) {
    this.move(at)
    this.counts[this.counts.length - 1]! += 1
    this.total++
    this.lastAt = at
  }

  /** last is what came in each of the last n seconds before now. */
  last(n: number, now: number): number[] {
    const behind = Math.floor(now / 1000) - this.second
    const all = [...this.counts, ...Array<number>(Math.min(n, Math.max(0, behind))).fill(0)]
    return [...Array<number>(n).fill(0), ...all].slice(-n)
  }

  /** perSecond is the mean of the last five full seconds. */
  perSecond(now: number): number {
    const five = this.last(6, now).slice(0, 5)
    return five.reduce((a, b) => a + b, 0) / 5
  }

  private move(at: number) {
    const second = Math.floor(at / 1000)
    if (this.counts.length === 0) this.second = second - 1
    for (; this.second < second; this.second++) {
      this.counts.push(0)
      if (this.counts.length > 31) this.counts.shift()
      if (second - this.second > 60) this.second = second - 60
    }
    if (this.counts.length === 0) this.counts.push(0) // an event that is late
  }
}

export const recently = 10_000
const keptWrites = 30

export class Machine {
  watched = new Map<string, Watched>()
  controllers = new Map<string, Controller>()
  leases = new Map<string, Lease>()
  lost = 0 // events that came too fast
  gap = false // some of the past is not known
  last: Event | undefined

  private versions = new Map<string, { version: string; at: number; gone: boolean }>() // of objects, as watches reported them
  private unseen = new Map<string, Write[]>() // writes that have not come back, by object

  /** note brings the machine up to date with the next event. */
  note(e: Event) {
    this.gap ||= this.last === undefined ? e.seq > 1 : e.seq > this.last.seq + 1
    this.last = e
    switch (e.kind) {
      case 'list': case 'watch start': case 'watch event': case 'bookmark': case 'watch end':
      case 'expired': case 'backoff': case 'index': case 'synced': case 'error':
        if (e.object !== 'Lease' || e.kind !== 'error') this.watch(e)
        break
      case 'predicate': case 'handler':
        this.handle(e)
        break
      case 'enqueue': case 'delay': case 'dequeue': case 'done':
        this.queue(e)
        break
      case 'reconcile start': case 'reconcile end':
        this.reconcile(e)
        break
      case 'write':
        this.write(e)
        break
      case 'lease':
        this.leases.set(e.layer, { key: key(e.namespace, e.name), op: e.op, at: e.at, layer: e.layer, reason: e.reason })
        break
      case 'start': case 'stop':
        if (this.controllers.has(e.layer) || e.layer !== 'manager') this.controller(e.layer).started = e.kind === 'start'
        break
    }
  }

  /** lose is for a gap: requests whose ends are among the lost events would stay forever. */
  lose(events: number) {
    this.lost += events
    for (const c of this.controllers.values()) {
      c.waiting.clear()
      c.running.clear()
    }
  }

  private watch(e: Event) {
    // A reflector of mini does not know its kind, but its error does.
    const kind = e.object || /^(?:listing|watching) (\w+):/.exec(e.reason)?.[1]
    if (!kind) return
    let w = this.watched.get(kind)
    if (!w) {
      w = {
        kind, state: 'listed', since: e.at, reason: '', failures: 0, retryAt: 0, version: '',
        relists: -1, relistReason: '', objects: 0, bytes: -1, recorded: false,
        events: new Rate(), echoAt: 0, blocked: new Map(),
      }
      this.watched.set(kind, w)
    }
    const become = (state: Watched['state']) => {
      if (w.state !== state) w.since = e.at
      w.state = state
    }
    switch (e.kind) {
      case 'list':
        if (e.outcome === 'failed') return this.failWatch(w, e)
        become('listed')
        w.relists++
        w.relistReason = w.relists > 0 ? w.reason : ''
        w.failures = w.retryAt = 0
        w.reason = ''
        if (!w.recorded) w.objects = e.count
        w.version = e.version
        w.blocked.clear()
        break
      case 'watch start':
        become(e.op === 'WatchList' ? 'streaming' : 'watching')
        if (e.op === 'WatchList') {
          w.relists++
          w.blocked.clear()
        }
        w.retryAt = 0
        w.version = e.version || w.version
        break
      case 'synced':
        become('watching')
        w.objects = e.count
        w.reason = ''
        w.failures = 0
        break
      case 'watch event':
        if (w.state !== 'streaming') become('watching')
        w.failures = 0
        w.version = e.version
        w.events.add(e.at)
        if (!w.recorded) w.objects = Math.max(0, w.objects + (e.op === 'ADDED' ? 1 : e.op === 'DELETED' ? -1 : 0))
        this.block(w, e)
        this.echo(w, e)
        break
      case 'bookmark':
        become('watching')
        w.version = e.version
        break
      case 'index':
        w.recorded = true
        w.objects = e.count
        break
      case 'watch end':
        become('ended')
        w.reason = e.reason
        break
      case 'expired':
        become('expired')
        w.reason = `410 Gone: the server has forgotten version ${e.version || w.version}`
        break
      default:
        this.failWatch(w, e)
    }
  }

  private failWatch(w: Watched, e: Event) {
    // The error before a backoff says more than the backoff, which may leave the server's words out.
    if (w.state !== 'failing' || e.kind !== 'backoff') w.reason = e.reason || w.reason
    if (w.state !== 'failing') w.since = e.at
    w.state = 'failing'
    if (e.kind === 'backoff') {
      w.failures = e.count
      w.retryAt = e.at + e.took
    } else {
      w.failures = Math.max(1, w.failures)
    }
  }

  /** block remembers what is being deleted, and is not gone because of a finalizer. */
  private block(w: Watched, e: Event) {
    const k = key(e.namespace, e.name)
    if (!e.reason) w.blocked.delete(k)
    else w.blocked.set(k, { key: k, finalizer: e.reason, since: w.blocked.get(k)?.since ?? e.at })
  }

  /** echo ties an event of a watch to the write that it shows. */
  private echo(w: Watched, e: Event) {
    const object = `${e.object} ${key(e.namespace, e.name)}`
    this.versions.delete(object) // so that it becomes the newest
    this.versions.set(object, { version: e.version, at: e.at, gone: e.op === 'DELETED' })
    if (this.versions.size > 5000) this.versions.delete(this.versions.keys().next().value!)
    const writes = this.unseen.get(object)
    if (!writes) return
    // The write that removes the last finalizer is a deletion, too.
    const seen = writes.findLastIndex((write) => write.version === e.version || e.op === 'DELETED' && write.verb !== 'create')
    if (seen < 0) return
    writes[seen]!.echo = e.at
    w.echoAt = e.at
    writes.splice(0, seen + 1)
    if (writes.length === 0) this.unseen.delete(object)
  }

  private controller(name: string): Controller {
    let c = this.controllers.get(name)
    if (!c) {
      c = {
        name, kind: '', own: new Set(), sources: new Map(), waiting: new Map(), delayed: new Map(), running: new Map(),
        failing: new Map(), recent: new Map(), started: true, reconciles: new Rate(), succeeded: 0, failed: 0,
        merged: 0, mostRunning: 0, writes: [],
      }
      this.controllers.set(name, c)
    }
    return c
  }

  private recent(c: Controller, k: string): Recent {
    let r = c.recent.get(k)
    if (!r) {
      r = { ended: [], echoed: false, wrote: false, asked: '', askedVersion: '', askedByEcho: false, lastWrite: '' }
      c.recent.set(k, r)
      if (c.recent.size > 2000) c.recent.delete(c.recent.keys().next().value!)
    }
    return r
  }

  private handle(e: Event) {
    const c = this.controller(e.layer)
    let s = c.sources.get(e.object)
    if (!s) {
      s = { kind: e.object, passed: 0, filtered: 0, filteredBy: '', lastAt: 0 }
      c.sources.set(e.object, s)
    }
    if (e.kind === 'predicate') {
      if (e.outcome !== 'filtered') return // the handler says the rest
      s.filtered++
      s.filteredBy = e.reason || s.filteredBy
      return
    }
    s.passed++
    s.lastAt = e.at
    if (!e.toName) return
    const r = this.recent(c, key(e.toNamespace, e.toName))
    const object = key(e.namespace, e.name)
    if (object === key(e.toNamespace, e.toName)) c.own.add(e.object)
    r.asked = `${e.object} ${object}`
    r.askedVersion = e.version
    r.askedByEcho = c.writes.some((w) => w.kind === e.object && w.key === object && w.version === e.version)
  }

  private queue(e: Event) {
    const c = this.controller(e.layer)
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
        c.waiting.delete(k)
        c.running.set(k, { key: k, since: e.at, reason, causes: 0, doing: '' }) // a queue may have workers of its own
        return
      }
      case 'done':
        c.running.delete(k)
    }
  }

  private reconcile(e: Event) {
    const c = this.controller(e.layer)
    const k = key(e.namespace, e.name)
    c.kind ||= e.object
    const r = this.recent(c, k)
    if (e.kind === 'reconcile start') {
      c.waiting.delete(k)
      c.running.set(k, { key: k, since: e.at, reason: e.reason || r.asked, causes: e.count, doing: '' })
      c.mostRunning = Math.max(c.mostRunning, c.running.size)
      c.reconciles.add(e.at)
      r.echoed = r.askedByEcho
      r.wrote = r.askedByEcho = false
      return
    }
    c.running.delete(k)
    r.ended.push({ at: e.at, loop: r.echoed && r.wrote, idle: !r.wrote })
    while (r.ended[0]!.at < e.at - recently) r.ended.shift()
    if (e.outcome === 'failed' || e.outcome === 'given up') {
      c.failed++
      const before = c.failing.get(k)
      c.failing.set(k, {
        key: k, times: (before?.times ?? 0) + 1, since: before?.since ?? e.at, last: e.at,
        outcome: e.outcome, reason: e.reason,
      })
    } else {
      c.succeeded++
      c.failing.delete(k)
    }
  }

  private write(e: Event) {
    const c = this.controller(e.layer)
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
      const r = this.recent(c, w.to)
      r.wrote = true
      r.lastWrite = `${w.verb} ${w.kind} ${w.key}`
      if (r.asked === object && r.askedVersion === w.version) r.askedByEcho = true // before the answer came
    }
    if (w.outcome) return // it has changed nothing
    const seen = this.versions.get(object)
    if (seen && (seen.gone ? w.verb !== 'create' : seen.version === w.version && w.version !== '')) { // the watch was faster than the answer
      w.echo = seen.at
      const watched = this.watched.get(w.kind)
      if (watched) watched.echoAt = Math.max(watched.echoAt, seen.at)
      return
    }
    const writes = this.unseen.get(object) ?? []
    writes.push(w)
    if (writes.length > 10) writes.shift()
    this.unseen.set(object, writes)
    if (this.unseen.size > 5000) this.unseen.delete(this.unseen.keys().next().value!)
  }
}
