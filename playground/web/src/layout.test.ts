import assert from 'node:assert/strict'
import { test } from 'node:test'
import { counted, layout, progress } from './layout'
import { deployment, pod, set, state } from './testworld'

const looks = (s: ReturnType<typeof state>) => Object.fromEntries(layout(s).layout.pods.map((p) => [p.pod.name, p.look]))

test('a Pod that stays keeps its place when another one goes', () => {
  const before = state({ pods: ['a', 'b', 'c'].map((name) => pod(name)) })
  const { places } = layout(before)
  const after = layout(state({ pods: [pod('c'), pod('d')] }), places)
  const slot = (name: string) => after.layout.pods.find((p) => p.pod.name === name)!.slot
  assert.equal(slot('c'), 2)
  assert.equal(slot('d'), 0, 'a new one takes the place of one that has gone')
  assert.equal(after.layout.fullest, 3)
  assert.equal(after.places.size, 2, 'places of Pods that have gone are forgotten')
})

test('no two Pods are in one place, however they come and go', () => {
  let places = new Map()
  for (let round = 0; round < 50; round++) {
    const names = Array.from({ length: 20 }, (_, i) => i).filter((i) => (i * 7 + round * 3) % 5 > 1)
    const made = layout(state({ pods: names.map((i) => pod(`p${i}`, { node: i % 4 === 3 ? undefined : `node-${(i + (round > 25 ? 1 : 0)) % 3 + 1}` })) }), places)
    places = made.places as Map<string, never>
    const taken = new Set(made.layout.pods.map((p) => `${p.column} ${p.slot}`))
    assert.equal(taken.size, names.length)
  }
})

test('a Pod without a node waits beside the nodes', () => {
  const { layout: l } = layout(state({ pods: [pod('a', { node: undefined, status: 'Pending', ready: false })] }))
  assert.equal(l.pods[0]!.column, -1)
  assert.equal(l.waiting, 1)
})

test('what you want, what was before, and what can’t run look different', () => {
  assert.deepEqual(looks(state({
    deployments: [deployment({ image: 'web:bad' })],
    replicaSets: [set('web-1', 1, 'web:1', 2), set('web-2', 2, 'web:bad', 3)],
    pods: [
      pod('old'), pod('ends', { going: true, ready: false }), pod('new', { owner: 'web-2' }), pod('starts', { owner: 'web-2', ready: false, status: 'ContainerCreating' }),
      pod('crashes', { owner: 'web-2', ready: false, status: 'CrashLoopBackOff' }), pod('again', { owner: 'web-2', ready: false, restarts: 1 }),
      pod('alone', { owner: undefined }),
    ],
  })), { old: 'old', ends: 'ending', new: 'wanted', starts: 'starting', crashes: 'trouble', again: 'trouble', alone: 'wanted' })
})

test('old ReplicaSets have a place only if a roll back leads to them', () => {
  const s = state({ deployments: [deployment({ image: 'web:3' })], replicaSets: [set('web-1', 1, 'web:1', 0), set('web-2', 2, 'web:2', 0), set('web-3', 3, 'web:3', 3)] })
  assert.deepEqual(layout(s).layout.sets.map((b) => [b.set.name, b.wanted]), [['web-2', false], ['web-3', true]])
})

test('a template that has no ReplicaSet yet makes all Pods old ones', () => {
  assert.deepEqual(new Set(Object.values(looks(state({ deployments: [deployment({ image: 'web:2' })] })))), new Set(['old']))
})

test('a Deployment says how far it is', () => {
  const says = (more: object, s = state()) => progress(deployment(more), s)
  assert.equal(says({}).text, 'all there')
  assert.equal(says({ updated: 1 }).text, 'rolling out: 1 of 3 is new')
  assert.equal(says({ pods: 4 }).text, 'rolling out: the last old ones go')
  assert.equal(says({ available: 1 }).text, '2 more to come')
  assert.deepEqual(says({ conditions: [{ type: 'Progressing', reason: 'ProgressDeadlineExceeded' }] }).trouble, true)
  assert.deepEqual(says({}, state({ pods: [pod('a', { status: 'ImagePullBackOff', ready: false })] })), { text: 'stuck: 1 Pod can’t run', trouble: true })
})

test('a ReplicaSet says how many Pods it has, and what it wants beside them', () => {
  const says = (pods: number, wanted: number, ready: number) => counted({ ...set('web-1', 1, 'web:1', 0), pods, wanted, ready })
  assert.deepEqual([says(1, 1, 1), says(1, 1, 0), says(1, 3, 1), says(3, 2, 3), says(0, 0, 0), says(2, 3, 1)],
    ['1 Pod', '1 Pod, 0 ready', '1 of 3 Pods', '3 Pods, 2 wanted', '0 Pods', '2 of 3 Pods, 1 ready'])
})

test('a Deployment that is being deleted says what it waits for', () => {
  const d = deployment({ going: true })
  assert.equal(progress(d, state()).text, 'is being deleted, and waits for 3 Pods')
  assert.equal(progress(d, state({ pods: [] })).text, 'is being deleted, and waits for its ReplicaSets')
})
