// node --test playground/web/clock.test.js
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Clock } from './clock.js'

// outside is the time that a browser has, and its timers.
function outside() {
  const o = { now: 0, timers: new Map(), id: 0, fired: [] }
  o.clock = new Clock({
    real: () => o.now,
    wall: 0,
    setTimer: (f, ms) => (o.timers.set(++o.id, { at: o.now + ms, f }), o.id),
    clearTimer: (id) => o.timers.delete(id),
  })
  o.clock.onFire((id) => {
    o.fired.push([id, o.clock.now()])
    o.clock.clear(id)
  })
  o.pass = (ms) => {
    const end = o.now + ms
    for (;;) {
      const due = [...o.timers].filter(([, t]) => t.at <= end).sort((a, b) => a[1].at - b[1].at)[0]
      if (!due) break
      o.timers.delete(due[0])
      o.now = Math.max(o.now, due[1].at)
      due[1].f()
    }
    o.now = end
  }
  return o
}

test('a program that is paused has no time', () => {
  const o = outside()
  o.clock.schedule(10)
  o.pass(1000)
  assert.equal(o.clock.now(), 0)
  assert.deepEqual(o.fired, [])
})

test('at speed 1 a timer fires when it is due', () => {
  const o = outside()
  o.clock.run()
  o.clock.schedule(10)
  o.pass(9)
  assert.deepEqual(o.fired, [])
  o.pass(1)
  assert.deepEqual(o.fired, [[1, 10]])
})

test('in slow motion a second takes ten', () => {
  const o = outside()
  o.clock.run(0.1)
  o.clock.schedule(1000)
  o.pass(9999)
  assert.deepEqual(o.fired, [])
  o.pass(1)
  assert.deepEqual(o.fired, [[1, 1000]])
})

test('what a timer has left is kept by a pause, and by a change of the speed', () => {
  const o = outside()
  o.clock.run(1)
  o.clock.schedule(1000)
  o.pass(400)
  o.clock.pause()
  o.pass(5000)
  assert.equal(o.clock.now(), 400)
  o.clock.run(2)
  o.pass(299)
  assert.deepEqual(o.fired, [])
  o.pass(1)
  assert.deepEqual(o.fired, [[1, 1000]])
})

test('as fast as it can, it jumps from timer to timer, and time stands still in between', () => {
  const o = outside()
  o.clock.run(Infinity)
  o.clock.schedule(600_000)
  o.clock.schedule(1000)
  o.pass(1)
  assert.deepEqual(o.fired, [[2, 1000], [1, 600_000]])
  o.pass(1000)
  assert.equal(o.clock.now(), 600_000)
})

test('a step fires one timer, and no more', () => {
  const o = outside()
  o.clock.schedule(50)
  o.clock.schedule(20)
  assert.equal(o.clock.step(), true)
  assert.deepEqual(o.fired, [[2, 20]])
  o.pass(1000)
  assert.equal(o.clock.step(), true)
  assert.deepEqual(o.fired, [[2, 20], [1, 50]])
  assert.equal(o.clock.step(), false)
})

test('a timer that was cleared does not fire', () => {
  const o = outside()
  o.clock.run()
  o.clock.clear(o.clock.schedule(10))
  o.pass(100)
  assert.deepEqual(o.fired, [])
  assert.equal(o.clock.next, undefined)
})

test('a jump ends where it should, and time goes on as before', () => {
  for (const speed of [0, 1]) {
    const o = outside()
    o.clock.run(speed)
    o.clock.schedule(1000)
    o.clock.schedule(700_000)
    let changes = 0
    o.clock.onSpeed(() => changes++)
    o.clock.fast(600_000)
    o.pass(0)
    assert.deepEqual(o.fired, [[1, 1000]])
    assert.equal(o.clock.now(), 600_000)
    assert.equal(o.clock.speed, speed)
    assert.equal(changes, 2, 'the page is told twice')
    o.pass(99_999)
    assert.equal(o.fired.length, 1)
    o.pass(1)
    assert.equal(o.fired.length, speed === 1 ? 2 : 1)
  }
})

test('a jump passes the time of a program that waits for nothing, and can be stopped', () => {
  const o = outside()
  o.clock.fast(5000)
  o.pass(0)
  assert.equal(o.clock.now(), 5000)
  o.clock.schedule(10)
  o.clock.fast(5000)
  o.clock.pause()
  o.pass(1000)
  assert.equal(o.clock.now(), 5000)
  assert.deepEqual(o.fired, [])
})

test('two jumps are one, and what comes after them is what was before', () => {
  const o = outside()
  o.clock.run(0.1)
  o.clock.fast(5000)
  o.clock.fast(6000)
  o.pass(0)
  assert.equal(o.clock.now(), 6000)
  assert.equal(o.clock.speed, 0.1)
})

test('time never goes back', () => {
  const o = outside()
  let last = 0
  for (const [speed, ms] of [[1, 10], [Infinity, 5], [0, 10], [0.5, 3], [Infinity, 1], [4, 2]]) {
    o.clock.schedule(7)
    o.clock.run(speed)
    o.pass(ms)
    assert.ok(o.clock.now() >= last)
    last = o.clock.now()
  }
})
