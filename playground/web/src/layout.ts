// Where everything is in the picture: pure, from a state and the places that its Pods had before. A Pod
// keeps its place as long as it is on its node, so that nothing jumps when another one goes.

import type { Deployment, Pod, ReplicaSet, State } from './messages'

/** How a Pod looks. */
export type Look = 'wanted' | 'starting' | 'old' | 'trouble' | 'ending'

export interface PodBox {
  pod: Pod
  look: Look
  column: number // of its node; -1 is none yet
  slot: number // in its node, or among those that wait for one
}

export interface SetBox {
  set: ReplicaSet
  wanted: boolean // it's the one of the Deployment's template
}

export interface Layout {
  pods: PodBox[]
  sets: SetBox[]
  fullest: number // how many slots the fullest node needs
  waiting: number // how many those without a node need
}

/** Places are the slots of the Pods, by their UIDs. */
export type Places = Map<string, { column: number; slot: number }>

export function layout(state: State, before: Places = new Map()): { layout: Layout; places: Places } {
  const places: Places = new Map()
  const columns = new Map(state.nodes.map((n, i) => [n.name, i]))
  const columnOf = (pod: Pod) => columns.get(pod.node ?? '') ?? -1
  const taken = new Set<string>()
  for (const pod of state.pods) {
    const had = before.get(pod.uid)
    if (had?.column !== columnOf(pod)) continue
    places.set(pod.uid, had)
    taken.add(`${had.column} ${had.slot}`)
  }
  for (const pod of state.pods) {
    if (places.has(pod.uid)) continue
    const column = columnOf(pod)
    let slot = 0
    while (taken.has(`${column} ${slot}`)) slot++
    places.set(pod.uid, { column, slot })
    taken.add(`${column} ${slot}`)
  }
  const current = new Set(state.replicaSets.filter((rs) => isCurrent(rs, state)).map((rs) => rs.name))
  const pods = state.pods.map((pod) => ({ pod, look: lookOf(pod, current), ...places.get(pod.uid)! }))
  const slots = (waits: boolean) => Math.max(0, ...pods.filter((p) => (p.column < 0) === waits).map((p) => p.slot + 1))
  return {
    layout: {
      pods, fullest: slots(false), waiting: slots(true),
      sets: state.replicaSets.filter((rs) => rs.wanted > 0 || rs.pods > 0 || current.has(rs.name) || isLastBefore(rs, state))
        .map((set) => ({ set, wanted: current.has(set.name) })).sort((a, b) => (a.set.revision ?? 0) - (b.set.revision ?? 0)),
    },
    places,
  }
}

/** newest is the ReplicaSet of a Deployment's template, or of the template that it had last. */
export function newest(d: { name: string }, state: State): ReplicaSet | undefined {
  return ofDeployment(d, state).at(-1)
}

/** ofDeployment are its ReplicaSets, the oldest revision first. */
export const ofDeployment = (d: { name: string }, state: State): ReplicaSet[] =>
  state.replicaSets.filter((rs) => rs.owner === d.name).sort((a, b) => (a.revision ?? 0) - (b.revision ?? 0))

function isCurrent(rs: ReplicaSet, state: State): boolean {
  const owner = state.deployments.find((d) => d.name === rs.owner)
  return !owner || newest(owner, state)?.uid === rs.uid && rs.image === owner.image
}

/** The revision that a roll back would lead to has a place, too. */
const isLastBefore = (rs: ReplicaSet, state: State) => state.deployments.some((d) => ofDeployment(d, state).at(-2)?.uid === rs.uid)

function lookOf(pod: Pod, current: Set<string>): Look {
  if (pod.going) return 'ending'
  if (isInTrouble(pod)) return 'trouble'
  if (pod.owner && !current.has(pod.owner)) return 'old'
  return pod.ready ? 'wanted' : 'starting'
}

export const isInTrouble = (pod: Pod) =>
  /BackOff|Err|Crash|Unknown|Lost/.test(pod.status) || !pod.ready && (pod.restarts ?? 0) > 0

/** podsOf are the Pods of a Deployment. */
export function podsOf(d: { name: string }, state: State): Pod[] {
  const sets = new Set(state.replicaSets.filter((rs) => rs.owner === d.name).map((rs) => rs.name))
  return state.pods.filter((pod) => sets.has(pod.owner ?? ''))
}

const plural = (n: number) => `${n} Pod${n === 1 ? '' : 's'}`

/** counted says how many Pods a ReplicaSet has, and what's missing. */
export function counted(set: ReplicaSet): string {
  const there = set.pods < set.wanted ? `${set.pods} of ${plural(set.wanted)}`
    : set.pods > set.wanted ? `${plural(set.pods)}, ${set.wanted} wanted` : plural(set.pods)
  return set.ready < set.pods ? `${there}, ${set.ready} ready` : there
}

/** progress says how far a Deployment is. */
export function progress(d: Deployment, state: State): { text: string; trouble: boolean } {
  const reason = d.conditions.find((c) => c.type === 'Progressing')?.reason
  const troubled = podsOf(d, state).filter((pod) => !pod.going && isInTrouble(pod)).length
  if (d.going) {
    const left = podsOf(d, state).length
    return { text: `is being deleted, and waits for ${left > 0 ? plural(left) : 'its ReplicaSets'}`, trouble: false }
  }
  if (d.paused) return { text: 'is paused: a new image waits', trouble: false }
  if (!d.observed) return { text: 'its controller hasn’t seen the change yet', trouble: false }
  if (reason === 'ProgressDeadlineExceeded') return { text: 'no progress for ten minutes: this rollout has failed', trouble: true }
  if (troubled > 0) return { text: `stuck: ${plural(troubled)} can’t run`, trouble: true }
  if (d.updated >= d.wanted && d.pods > d.updated) return { text: 'rolling out: the last old ones go', trouble: false }
  if (d.updated < d.wanted) return { text: `rolling out: ${d.updated} of ${d.wanted} ${d.updated === 1 ? 'is' : 'are'} new`, trouble: false }
  if (d.available < d.wanted) return { text: `${d.wanted - d.available} more to come`, trouble: false }
  return { text: 'all there', trouble: false }
}
