// The machine as the events describe it: what is watched, cached, waiting, delayed, running, and
// what has been written. A fold: each event changes the state, and nothing else does. So the same
// code draws a live program, its past, and a file. What the recorder has forgotten comes as an event
// with a State.

import { type Event, key, type State } from './event'
import { newRate, type Rate } from './rate'
import { noteWatching } from './watching'
import { noteWorking } from './working'

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
  objects: number // -1 is unknown
  reported: boolean // the cache itself says how many objects it has
  events: Rate
  echoAt: number // when a write of this program last came back
  blocked: Map<string, Blocked> // objects that a finalizer keeps from being deleted
  stalled: Map<string, Stalled> // objects that say of themselves that they aren't getting anywhere
}

export interface Stalled {
  key: string
  condition: string
  reason: string
  since: number
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
  beyond: number // how many more wait, of which only the number is known
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
  ended: { at: number; loop: boolean; idle: boolean; by: string }[] // in the last ten seconds
  echoed: boolean // the echo of an own write asked for the reconcile that runs
  wrote: boolean // in the reconcile that runs
  asked: string // the object whose change asked last
  by: string // the one that asked for the reconcile that runs
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

/** Shard is a namespace in which one of several replicas works. */
export interface Shard {
  holder: string // empty: nobody, as far as is known
  at: number // when it got there
  here: '' | 'begins' | 'stops' // what this replica does there
}

/**
 * kindsOf are the kinds that a controller's requests are about. The controllers of mini do not
 * record it, so it is found out: these kinds' objects ask for requests of their own names.
 */
export function kindsOf(c: Controller): string[] {
  if (c.kind) return [c.kind]
  if (c.own.size > 0) return [...c.own].sort()
  return [...c.sources.keys()].filter((kind) => namedAfter(c.name, kind)) // as long as nothing else is known
}

/** namedAfter is true of deployment and garbage-deployment for a Deployment. */
export const namedAfter = (controller: string, kind: string) => `-${controller}`.endsWith(`-${kind.toLowerCase()}`)

export const recently = 10_000

/** Known is an object, or a request, that there were events about. */
export interface Known {
  kind: string // empty: its layer doesn't know it
  namespace: string
  name: string
  seq: number // of the last event
  gone: boolean
}

const keptNames = 20_000

export class Machine {
  watched = new Map<string, Watched>()
  controllers = new Map<string, Controller>()
  leases = new Map<string, Lease>()
  shards = new Map<string, Shard>() // by namespace
  names = new Map<string, Known>() // the latest is the last
  gap = false // some of the past is not known
  last: Event | undefined
  replaying = false // what is still true, and happened long ago

  versions = new Map<string, { version: string; at: number; gone: boolean }>() // of objects, as watches reported them
  unseen = new Map<string, Write[]>() // writes that have not come back, by object

  /** copy is for going back in time. */
  copy(): Machine { return Object.assign(new Machine(), structuredClone({ ...this })) }

  /** note brings the machine up to date with the next event. */
  note(e: Event) {
    if (e.state) this.restore(e.state)
    else if (this.last === undefined ? e.seq > 1 : e.seq > this.last.seq + 1) this.forget()
    this.last = e
    this.apply(e)
  }

  private apply(e: Event) {
    if (e.name) this.name(e.object, e.namespace, e.name, e)
    switch (e.kind) {
      case 'list': case 'watch start': case 'watch event': case 'bookmark': case 'watch end':
      case 'expired': case 'backoff': case 'index': case 'synced': case 'condition': case 'error':
        if (e.object !== 'Lease' || e.kind !== 'error') noteWatching(this, e)
        break
      case 'lease':
        this.leases.set(e.layer, { key: key(e.namespace, e.name), op: e.op, at: e.at, layer: e.layer, reason: e.reason })
        break
      case 'shard':
        this.noteShard(e)
        break
      case 'start': case 'stop':
        if (this.controllers.has(e.layer) || e.layer !== 'manager') this.controller(e.layer).started = e.kind === 'start'
        break
      default:
        noteWorking(this, e)
    }
  }

  private noteShard(e: Event) {
    const shard = this.shards.get(e.name) ?? { holder: '', at: e.at, here: '' as const }
    this.shards.set(e.name, shard)
    if (e.op === 'held') Object.assign(shard, { holder: e.reason, at: e.at })
    else shard.here = e.op === 'begins' || e.op === 'stops' ? e.op : ''
    if (!shard.holder && !shard.here) this.shards.delete(e.name)
  }

  /** restore takes over what the recorder knows of the time that it has forgotten. */
  private restore(s: State) {
    this.gap = false
    this.forgetRequests()
    for (const w of this.watched.values()) Object.assign(w, { blocked: new Map(), stalled: new Map() })
    this.replaying = true
    for (const e of s.events) this.apply(e)
    this.replaying = false
    for (const c of s.caches) Object.assign(this.kind(c.object, 0), { objects: c.count, reported: c.reported }, c.version && { version: c.version })
    for (const w of this.watched.values()) w.relists = -1
    for (const c of this.controllers.values()) {
      Object.assign(c, { merged: 0, succeeded: 0, failed: 0 })
      for (const source of c.sources.values()) source.passed = source.filtered = 0
    }
    for (const n of s.counts) this.total(n)
    for (const [layer, n] of Object.entries(s.beyond)) this.controller(layer).beyond = n
  }

  private total({ kind, outcome, layer, object, count }: State['counts'][number]) {
    switch (kind) {
      case 'list': case 'watch start':
        this.kind(object, 0).relists += count
        break
      case 'handler':
        this.source(this.controller(layer), object).passed += count
        break
      case 'predicate':
        this.source(this.controller(layer), object).filtered += count
        break
      case 'enqueue':
        this.controller(layer).merged += count
        break
      case 'reconcile end':
        this.controller(layer)[outcome === 'failed' || outcome === 'given up' ? 'failed' : 'succeeded'] += count
    }
  }

  /** forget is for a gap: what was true before it may not be any more, and the sums are too small. */
  private forget() {
    this.gap = true
    this.forgetRequests()
    for (const w of this.watched.values()) if (!w.reported) w.objects = -1
  }

  private forgetRequests() {
    for (const c of this.controllers.values()) {
      c.waiting.clear()
      c.delayed.clear()
      c.running.clear()
      c.failing.clear()
      c.beyond = 0
    }
  }

  kind(kind: string, at: number): Watched {
    let w = this.watched.get(kind)
    if (!w) {
      w = {
        kind, state: 'listed', since: at, reason: '', failures: 0, retryAt: 0, version: '',
        relists: -1, relistReason: '', objects: -1, reported: false,
        events: newRate(), echoAt: 0, blocked: new Map(), stalled: new Map(),
      }
      this.watched.set(kind, w)
    }
    return w
  }

  controller(name: string): Controller {
    let c = this.controllers.get(name)
    if (!c) {
      c = {
        name, kind: '', own: new Set(), sources: new Map(), waiting: new Map(), beyond: 0, delayed: new Map(), running: new Map(),
        failing: new Map(), recent: new Map(), started: true, reconciles: newRate(), succeeded: 0, failed: 0,
        merged: 0, mostRunning: 0, writes: [],
      }
      this.controllers.set(name, c)
    }
    return c
  }

  source(c: Controller, kind: string): Source {
    let s = c.sources.get(kind)
    if (!s) {
      s = { kind, passed: 0, filtered: 0, filteredBy: '', lastAt: 0 }
      c.sources.set(kind, s)
    }
    return s
  }

  /** name remembers that there is something of this name, for who looks for it. */
  private name(kind: string, namespace: string, name: string, e: Event) {
    const id = `${kind} ${key(namespace, name)}`
    const before = this.names.get(id)
    this.names.delete(id) // so that it becomes the latest
    const gone = e.kind === 'watch event' ? e.op === 'DELETED' : before?.gone ?? false
    this.names.set(id, { kind, namespace, name, seq: e.seq, gone })
    if (this.names.size > keptNames) this.names.delete(this.names.keys().next().value!)
  }
}
