// Who acts next: the controllers of mini, as the flight recorder sees them, and those who are played,
// as the objects show it. Pure.

import { groups, works } from '../../../xray/web/src/groups'
import type { Machine, Write } from '../../../xray/web/src/machine'
import type { State } from './messages'

/** Actor is a box of the pipeline. */
export interface Actor {
  id: string
  name: string
  says: string
  busy: boolean // it has something to do right now
  trouble: boolean
  at: number // when it last did something, in the world's ms since 1970
}

const always = ['deployment', 'replicaset']
const idle = 'has nothing to do'

/** actors are the boxes, in the order in which a Deployment passes them. */
export function actors(state: State, machine: Machine, now: number): Actor[] {
  const all = groups(machine)
  const one = (id: string, name: string): Actor => {
    const queues = all.find((g) => g.name === id)?.queues ?? []
    const waiting = queues.flatMap((c) => [...c.waiting.values()])
    const running = queues.flatMap((c) => [...c.running.values()])
    const failing = queues.flatMap((c) => [...c.failing.values()]).filter((f) => now - f.last < 60_000)
    const last = queues.flatMap((c) => c.writes).sort((a, b) => b.at - a.at)[0]
    const says = running[0] ? `reconciles ${short(running[0].key)}`
      : failing[0] ? `failed, and backs off: ${short(failing[0].key)}`
      : waiting[0] ? `${short(waiting[0].key)} waits in its queue`
      : last ? `idle; last: ${wrote(last)}` : idle
    return { id, name, says, busy: running.length + waiting.length > 0, trouble: failing.length > 0 && running.length === 0, at: last?.at ?? 0 }
  }
  const boxes = always.map((id) => one(id, id === 'deployment' ? 'Deployment controller' : 'ReplicaSet controller'))
  boxes.push(scheduler(state), kubelets(state))
  const garbage = all.find((g) => g.name === 'garbage')
  if (state.deployments.some((d) => d.going) || garbage && garbage.queues.some((c) => c.writes.some((w) => now - w.at < 10_000))) {
    boxes.push(one('garbage', 'Garbage collector'))
  }
  const silent = state.nodes.filter((n) => n.dead)
  if (silent.length > 0 || state.nodes.some((n) => !n.ready)) {
    boxes.push(nodes(state, one('nodelifecycle', 'Node controller')))
  }
  for (const g of all) {
    if (['deployment', 'replicaset', 'garbage', 'nodelifecycle', 'tainteviction', 'namespace'].includes(g.name)) continue
    if (works(g, now)) boxes.push(one(g.name, `${g.name} controller`))
  }
  return boxes
}

const short = (key: string) => key.replace(/^default\//, '')

const wrote = (w: Write) => `${w.verb} ${w.kind} ${short(w.key)}${w.outcome && `, ${w.outcome}`}`

/** heading says what the boxes are about: the first one that has something to do is next. */
export const heading = (all: Actor[]) => (all.some((a) => a.busy) ? 'Acts next' : 'Nobody acts now')

function scheduler(state: State): Actor {
  const waiting = state.pods.filter((p) => !p.node && !p.going).length
  const open = state.nodes.some((n) => n.ready && !n.cordoned && !n.taints?.length)
  return {
    id: 'scheduler', name: 'Scheduler', at: 0, busy: waiting > 0 && open, trouble: waiting > 0 && !open,
    says: waiting === 0 ? idle : open ? `looks for a node for ${pods(waiting)}` : `has no node for ${pods(waiting)}`,
  }
}

function kubelets(state: State): Actor {
  const alive = new Set(state.nodes.filter((n) => !n.dead).map((n) => n.name))
  const here = state.pods.filter((p) => alive.has(p.node ?? ''))
  const starting = here.filter((p) => !p.ready && !p.going && !/BackOff/.test(p.status)).length
  const backingOff = here.filter((p) => /BackOff/.test(p.status) && !p.going).length
  const ending = here.filter((p) => p.going).length
  const says = [
    starting > 0 && `start ${pods(starting)}`, ending > 0 && `end ${pods(ending)}`,
    backingOff > 0 && `back off with ${pods(backingOff)}`,
  ].filter(Boolean).join(', ')
  return { id: 'kubelets', name: 'Kubelets', at: 0, busy: starting + ending > 0, trouble: backingOff > 0, says: says || 'have nothing to do' }
}

function nodes(state: State, seen: Actor): Actor {
  const silent = state.nodes.filter((n) => n.dead && n.ready)
  const lost = state.nodes.filter((n) => !n.ready)
  const says = silent[0] ? `hears nothing of ${silent[0].name}, and gives it 50 s` : `${lost.map((n) => n.name).join(', ')} ${lost.length > 1 ? 'are' : 'is'} lost, so the Pods are evicted`
  return { ...seen, says, busy: silent.length > 0, trouble: lost.length > 0 }
}

const pods = (n: number) => `${n} Pod${n === 1 ? '' : 's'}`
