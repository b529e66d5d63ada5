// The left half of the machine: what is watched, and what the caches hold.

import { type Event, key } from './event'
import type { Machine, Watched } from './machine'
import { count } from './rate'

export function noteWatching(m: Machine, e: Event) {
  // A reflector of mini does not know its kind, but its error does.
  const kind = e.object || /^(?:listing|watching) (\w+):/.exec(e.reason)?.[1]
  if (!kind) return
  const w = m.kind(kind, e.at)
  const become = (state: Watched['state']) => {
    if (w.state !== state) w.since = e.at
    w.state = state
  }
  switch (e.kind) {
    case 'list':
      if (e.outcome === 'failed') return failWatch(w, e)
      list(w, e)
      become('listed')
      break
    case 'watch start':
      become(e.op === 'WatchList' ? 'streaming' : 'watching')
      if (e.op === 'WatchList') {
        w.relists++
        w.blocked.clear()
        if (!w.reported) w.objects = 0
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
      change(m, w, e)
      if (w.state !== 'streaming') become('watching')
      break
    case 'bookmark':
      become('watching')
      w.version = e.version
      break
    case 'index':
      w.reported = true
      w.objects = e.count
      break
    case 'condition':
      if (!e.reason) w.stalled.delete(key(e.namespace, e.name))
      else w.stalled.set(key(e.namespace, e.name), { key: key(e.namespace, e.name), condition: e.op, reason: e.reason, since: e.at - e.took })
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
      failWatch(w, e)
  }
}

/** list is a list, or a page of it: the pages of one list have one version. */
function list(w: Watched, e: Event) {
  const nextPage = w.state === 'listed' && w.version !== '' && w.version === e.version
  if (!nextPage) {
    w.relists++
    w.relistReason = w.relists > 0 ? w.reason : ''
  }
  if (!w.reported) w.objects = e.count + (nextPage ? Math.max(0, w.objects) : 0)
  w.failures = w.retryAt = 0
  w.reason = ''
  w.version = e.version
  w.blocked.clear()
}

function change(m: Machine, w: Watched, e: Event) {
  w.failures = 0
  w.version = e.version
  if (!m.replaying) count(w.events, e.at)
  if (!w.reported && w.objects >= 0) w.objects = Math.max(0, w.objects + (e.op === 'ADDED' ? 1 : e.op === 'DELETED' ? -1 : 0))
  if (e.op === 'DELETED') w.stalled.delete(key(e.namespace, e.name))
  block(w, e)
  echo(m, w, e)
}

function failWatch(w: Watched, e: Event) {
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
function block(w: Watched, e: Event) {
  const k = key(e.namespace, e.name)
  if (!e.reason) w.blocked.delete(k)
  else w.blocked.set(k, { key: k, finalizer: e.reason, since: w.blocked.get(k)?.since ?? e.at })
}

/** echo ties an event of a watch to the write that it shows. */
function echo(m: Machine, w: Watched, e: Event) {
  const object = `${e.object} ${key(e.namespace, e.name)}`
  m.versions.delete(object) // so that it becomes the newest
  m.versions.set(object, { version: e.version, at: e.at, gone: e.op === 'DELETED' })
  if (m.versions.size > 5000) m.versions.delete(m.versions.keys().next().value!)
  const writes = m.unseen.get(object)
  if (!writes) return
  // The write that removes the last finalizer is a deletion, too.
  const seen = writes.findLastIndex((write) => write.version === e.version || e.op === 'DELETED' && write.verb !== 'create')
  if (seen < 0) return
  writes[seen]!.echo = e.at
  w.echoAt = e.at
  writes.splice(0, seen + 1)
  if (writes.length === 0) m.unseen.delete(object)
}
