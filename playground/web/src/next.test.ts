import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Machine } from '../../../xray/web/src/machine'
import { actors, heading } from './next'
import { Seen } from './seen'
import { pod, state } from './testworld'

let seq = 0
const line = (kind: string, more: object = {}) =>
  JSON.stringify({ seq: ++seq, time: '2026-01-01T00:00:00.5Z', kind, layer: 'deployment', namespace: 'default', name: 'web', text: '', ...more })
const names = (s = state(), m = new Machine()) => actors(s, m, Date.parse('2026-01-01T00:00:01Z')).filter((a) => a.busy).map((a) => `${a.name}: ${a.says}`)

test('a request in the queue is what’s next, and then its reconcile', () => {
  seq = 0
  const seen = new Seen()
  seen.take({ is: 'state', state: state() })
  seen.take({ is: 'events', from: 'mini-1', lines: line('handler', { object: 'Deployment', toNamespace: 'default', toName: 'web' }) + '\n' + line('enqueue') + '\n' })
  assert.deepEqual(names(state(), seen.working.machine), ['Deployment controller: web waits in its queue'])
  seen.take({ is: 'events', from: 'mini-1', lines: `${line('dequeue')}\n${line('reconcile start')}\n` })
  assert.deepEqual(names(state(), seen.working.machine), ['Deployment controller: reconciles web'])
  seen.take({ is: 'events', from: 'mini-1', lines: `${line('reconcile end', { outcome: 'succeeded' })}\n${line('done')}\n` })
  assert.deepEqual(names(state(), seen.working.machine), [])
})

test('a controller that is idle says so before what it did last, and then nobody acts', () => {
  seq = 0
  const seen = new Seen()
  const says = () => actors(state(), seen.working.machine, Date.parse('2026-01-01T00:00:01Z'))
  seen.take({ is: 'state', state: state() })
  assert.deepEqual([says()[0]!.says, heading(says())], ['has nothing to do', 'Nobody acts now'])
  const begins = line('reconcile start')
  const write = line('write', { object: 'ReplicaSet', name: 'web-1', op: 'create', toNamespace: 'default', toName: 'web' })
  seen.take({ is: 'events', from: 'mini-1', lines: `${begins}\n${write}\n` })
  assert.deepEqual([says()[0]!.says, heading(says())], ['reconciles web', 'Acts next'])
  seen.take({ is: 'events', from: 'mini-1', lines: `${line('reconcile end', { outcome: 'succeeded' })}\n${line('done')}\n` })
  assert.deepEqual([says()[0]!.says, heading(says())], ['idle; last: create ReplicaSet web-1', 'Nobody acts now'])
})

test('a Pod without a node is the scheduler’s, and one that starts is its kubelet’s', () => {
  const wait = pod('a', { node: undefined, ready: false, status: 'Pending' })
  const start = pod('b', { ready: false, status: 'ContainerCreating' })
  assert.deepEqual(names(state({ pods: [wait, start] })), ['Scheduler: looks for a node for 1 Pod', 'Kubelets: start 1 Pod'])
  const closed = state({ pods: [wait] })
  for (const n of closed.nodes) n.cordoned = true
  assert.deepEqual(names(closed), [], 'no node is open to it')
  assert.ok(actors(closed, new Machine(), 0).find((a) => a.id === 'scheduler')!.trouble)
})

test('a kubelet that is dead starts nothing', () => {
  const s = state({ pods: [pod('b', { ready: false, status: 'ContainerCreating' })] })
  s.nodes[0]!.dead = true
  assert.deepEqual(names(s).filter((a) => a.startsWith('Kubelets')), [])
  assert.ok(names(s).some((a) => a.includes('hears nothing of node-1')))
})

test('a new world begins with empty queues, and what a moment has counted stays', () => {
  seq = 0
  const seen = new Seen()
  seen.take({ is: 'state', state: state() })
  seen.take({ is: 'events', from: 'mini-1', lines: `${line('list', { layer: 'listwatch', object: 'Pod', name: '' })}\n${line('enqueue')}\n` })
  const before = seen.moment(0)!
  assert.equal(seen.working.machine.controllers.get('deployment')?.waiting.size, 1)
  seq = 0
  seen.take({ is: 'events', from: 'mini-1', lines: `${line('list', { layer: 'listwatch', object: 'Pod', name: '' })}\n` })
  assert.equal(seen.working.machine.controllers.size, 0)
  assert.deepEqual([before.count('list Pod'), seen.moment(0)!.count('list Pod')], [1, 2])
})
