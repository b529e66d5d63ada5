// States for the tests: a Deployment web with ReplicaSets and Pods.

import type { Deployment, Pod, ReplicaSet, State } from './messages'
import type { Moment } from './tries'

const named = (name: string) => ({ name, uid: `uid of ${name}` })

export const pod = (name: string, more: Partial<Pod> = {}): Pod =>
  ({ ...named(name), owner: 'web-1', node: 'node-1', image: 'web:1', status: 'Running', ready: true, ...more })

export const set = (name: string, revision: number, image: string, pods: number): ReplicaSet =>
  ({ ...named(name), owner: 'web', revision, image, wanted: pods, pods, ready: pods })

export const deployment = (more: Partial<Deployment> = {}): Deployment =>
  ({ ...named('web'), wanted: 3, pods: 3, updated: 3, available: 3, image: 'web:1', observed: true, conditions: [], ...more })

export const state = (more: Partial<State> = {}): State => ({
  deployments: [deployment()],
  replicaSets: [set('web-1', 1, 'web:1', 3)],
  pods: [1, 2, 3].map((n) => pod(`web-1-${n}`, { node: `node-${n}` })),
  nodes: [1, 2, 3].map((n) => ({ name: `node-${n}`, ready: true })),
  processes: [{ name: 'mini-1', alive: true, leads: true, watched: ['pods'], held: [] }],
  ...more,
})

export const at = (s: State, time = 0, counts: Record<string, number> = {}): Moment =>
  ({ state: s, time, count: (what) => counts[what] ?? 0 })
