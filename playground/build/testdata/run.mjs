// Plays in the real program, as a page does: node run.mjs DIR. It prints what a test looks at, as JSON.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dir, ...programs] = process.argv.slice(2)
createRequire(import.meta.url)(resolve(dir, 'wasm_exec.js'))
const { Clock } = await import(pathToFileURL(resolve(dir, 'clock.js')))

const began = performance.now()
const report = {}
const clock = new Clock({ wall: Date.UTC(2026, 0, 1) })
const waiting = new Map() // id -> what a command has said, until it is done
let state, events = 0, lastID = 0
const watchers = new Set() // called after each message

globalThis.playgroundHear = (text) => {
  const m = JSON.parse(text)
  if (m.is === 'state') state = m.state
  if (m.is === 'events') {
    report.firstEventMs ??= performance.now() - began
    events += m.lines.split('\n').length - 1
  }
  const command = waiting.get(m.id)
  if (m.is === 'output') command.text += m.text
  if (m.is === 'words') command.words = m.words
  if (m.is === 'done') {
    waiting.delete(m.id)
    if (m.error && !command?.fails) throw new Error(`${JSON.stringify(command?.sent)}: ${m.error}`)
    command.resolve({ ...command, error: m.error })
  }
  for (const w of watchers) w()
}

const go = new Go()
clock.drive(go)
clock.run(Infinity)
const { instance } = await WebAssembly.instantiate(readFileSync(join(dir, 'playground.wasm')), go.importObject)
report.loadMs = performance.now() - began
go.run(instance)

const send = (sent, fails = false) =>
  new Promise((resolve) => {
    const id = ++lastID
    waiting.set(id, { sent, text: '', resolve, fails })
    playgroundSend(JSON.stringify({ id, ...sent }))
  })
const act = (name, ...args) => send({ do: 'act', name, args })
const kubectl = (line, input) => send({ do: 'kubectl', line, input }).then((c) => c.text)
const until = (what, holds) =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`in vain: ${what}: ${JSON.stringify(state)}`)), 60_000)
    const look = () => {
      if (!state || !holds(state)) return
      watchers.delete(look)
      clearTimeout(late)
      resolve(clock.now())
    }
    watchers.add(look)
    look()
  })
const ready = (image, n) => (s) =>
  s.pods.length === n && s.pods.every((p) => p.ready && !p.going && p.image === image) &&
  s.deployments.length === 1 && s.deployments[0].available === n && s.deployments[0].observed

await send({ do: 'start', seed: 1, replicas: 1 })
await act('create', 'web', 'web:1', '3')
await until('three Pods', ready('web:1', 3))
report.rolloutMs = performance.now() - began
report.pods = state.pods.map((p) => [p.node, p.image, p.status])
report.printed = await kubectl('get deployments')

// Ten minutes without progress, which is when a rollout has failed.
await act('set image', 'web', 'registry.invalid/web:2')
const real = performance.now()
const virtual = clock.now()
await until('the deadline', (s) => s.deployments[0].conditions.some((c) => c.reason === 'ProgressDeadlineExceeded'))
report.deadline = { passed: clock.now() - virtual, tookMs: performance.now() - real }
await act('rollback', 'web')
await until('the rollback', ready('web:1', 3))

// Paused, nothing waits for time, and what needs none is answered.
clock.pause()
const at = clock.now()
report.paused = { names: (await kubectl('get pods -o name')).split('\n').length - 1 }
await new Promise((r) => setTimeout(r, 50))
report.paused.time = clock.now() - at
report.paused.stepped = clock.step() && clock.now() > at
clock.run(Infinity)

report.words = (await send({ do: 'complete', line: 'rollout s' })).words
report.nonsense = (await send({ do: 'kubectl', line: 'gte pods' }, true)).error
const watch = send({ do: 'kubectl', line: 'get pods -w' }) // which ends with Ctrl-C
await send({ do: 'cancel', of: lastID })
await watch
report.cancelled = true

report.programs = {}
for (const name of programs) {
  const from = performance.now()
  const { text, error } = await send({ do: 'chapter', name }, true)
  report.programs[name] = { text, error: error ?? '', ms: performance.now() - from }
}
report.events = events
report.memoryMB = instance.exports.mem.buffer.byteLength / 1e6
process.stdout.write(JSON.stringify(report), () => process.exit(0))
