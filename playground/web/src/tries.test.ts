import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as faults from './faults'
import { at, deployment, pod, set, state } from './testworld'
import * as tries from './tries'
import { Trial } from './trial'
import type { Cluster } from './cluster'
import type { Command } from './messages'

const web = { deployment: 'web' }
const all = [...Object.values(tries), ...Object.values(faults)].filter((t): t is tries.Try => typeof t === 'object' && 'question' in t)

test('each question has two or three answers, one of which is right', () => {
  assert.ok(all.length >= 18)
  for (const t of all) {
    const q = t.question(at(state()), { ...web, pod: 'web-1-1', node: 'node-1', replicas: 4, image: 'web:2' })
    assert.ok(q.answers.length === 2 || q.answers.length === 3, t.id)
    assert.equal(new Set(q.answers).size, q.answers.length, t.id)
    assert.ok(q.answers[q.right], t.id)
    assert.doesNotMatch(q.asks + q.answers.join() + t.lines(at(state()), { ...web, pod: 'p', node: 'n', replicas: 4, image: 'i' }).join(), /undefined|NaN/, t.id)
  }
  assert.equal(new Set(all.map((t) => t.id)).size, all.length, 'no two have one name')
})

test('nothing is over before it has begun', () => {
  const before = at(state())
  const about = { ...web, pod: 'web-1-1', node: 'node-1', replicas: 4, image: 'web:2' }
  const possible = all.filter((t) => t.cannot(before, about) === '')
  assert.ok(possible.length >= 12)
  for (const t of possible) assert.equal(t.over(before, before, about), false, t.id)
})

test('what can’t be done now says why', () => {
  const none = at(state({ deployments: [], replicaSets: [], pods: [] }))
  assert.match(tries.scaleUp.cannot(none, { ...web, replicas: 1 }), /create one first/)
  assert.match(tries.scaleDown.cannot(at(state()), { ...web, replicas: -1 }), /Fewer/)
  assert.match(tries.rollback.cannot(at(state()), web), /one revision/)
  assert.match(tries.setImage.cannot(at(state({ deployments: [deployment({ paused: true })] })), web), /resume it first/)
  assert.match(tries.deletePod.cannot(at(state()), { pod: 'nothing' }), /gone/)
  assert.match(faults.killLeader.cannot(at(state()), web), /two processes/)
  assert.match(faults.cutWatch.cannot(at(state({ pods: [pod('web-1-1')] })), web), /Wait/)
  for (const t of [tries.scaleUp, tries.setImage, tries.breakIt, tries.pause, faults.holdWatch, faults.loseAnswer]) assert.equal(t.cannot(at(state()), { ...web, replicas: 4 }), '', t.id)
})

test('a broken rollout is over when the new Pods back off, and says how many work', () => {
  const before = at(state())
  const broken = (status: string) => at(state({
    deployments: [deployment({ image: 'web:bad', updated: 1 })], replicaSets: [set('web-1', 1, 'web:1', 3), set('web-2', 2, 'web:bad', 1)],
    pods: [...state().pods, pod('bad', { owner: 'web-2', image: 'web:bad', ready: false, status })],
  }))
  assert.equal(tries.breakIt.over(broken('ContainerCreating'), before, web), false)
  assert.equal(tries.breakIt.over(broken('CrashLoopBackOff'), before, web), true)
  assert.equal(tries.breakIt.says(broken('CrashLoopBackOff'), before, web), '3 of 3 still work, and 1 Pod of web:bad can’t.')
})

test('a cut watch is told from one that was answered 410 by what mini does', () => {
  const before = at(state(), 0, { 'list Pod': 1, 'watch start Pod': 1 })
  const watched = at(state(), 0, { 'list Pod': 1, 'watch start Pod': 2 })
  const listed = at(state(), 0, { 'list Pod': 2, 'watch start Pod': 2 })
  assert.equal(faults.cutWatch.over(watched, before, web), true)
  assert.match(faults.cutWatch.says(watched, before, web), /listed nothing/)
  assert.equal(faults.expireWatch.over(watched, before, web), false)
  assert.equal(faults.expireWatch.over(listed, before, web), true)
})

test('a trial sends what it says, and an error ends it', async () => {
  const sent: Command[] = []
  let printed = ''
  const cluster = { send: async (c: Command, output: (text: string) => void) => { sent.push(c); output('done\n'); if (c.do === 'act') throw new Error('no such node') } } as unknown as Cluster
  const scaled = new Trial(tries.scaleUp, { ...web, replicas: 4 }, at(state()))
  assert.equal(scaled.look(at(state())), false, 'it hasn’t been answered')
  await scaled.run(cluster, at(state()), (text) => { printed += text })
  assert.deepEqual(sent, [{ do: 'kubectl', line: 'kubectl scale deployment web --replicas=4' }])
  assert.equal(printed, '$ kubectl scale deployment web --replicas=4\ndone\n')
  assert.equal(scaled.look(at(state())), false)
  const after = state({ deployments: [deployment({ wanted: 4 })], pods: [...state().pods, pod('web-1-4')] })
  assert.equal(scaled.look(at(after, 2000)), true)
  assert.equal(scaled.look(at(after, 3000)), false, 'it ends once')
  assert.equal(scaled.text, '4 Pods after 2 s.')
  const refused = new Trial(tries.killNode, { node: 'moon' }, at(state()))
  await refused.run(cluster, at(state()), () => {})
  assert.deepEqual([refused.phase, refused.text], ['refused', 'no such node'])
})
