// Runs a module of figures and uses each control of each figure once: node run.mjs DIR MODULE FIGURE,FIGURE
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

const [dir, module, figures] = process.argv.slice(2)
createRequire(import.meta.url)(resolve(dir, 'wasm_exec.js'))
const go = new Go()
const { instance } = await WebAssembly.instantiate(readFileSync(join(dir, `${module}.wasm`)), go.importObject)
go.run(instance)

const other = (c) => ({
  choice: c.options.map((o) => o.value).find((v) => v !== c.value),
  range: String(Number(c.value) === c.max ? c.min : Number(c.value) + 1),
  check: String(c.value !== 'true'),
})[c.kind] ?? ''

const runs = []
for (const name of figures.split(',')) {
  const figure = loopwrightFigures[module](name)
  const first = figure.look(640)
  const run = { name, picture: figure.still(), used: [], silent: [], changed: 0 }
  if (!figure.look(360).picture.includes('viewBox="0 0 360 ')) throw new Error(`${name} has no picture for a phone`)
  let view = first
  for (let next; (next = view.controls.find((c) => !run.used.includes(c.key) && c.key !== 'restart')); ) {
    run.used.push(next.key)
    const after = figure.act(640, next.key, other(next))
    if (!after.said) run.silent.push(next.key)
    if (after.picture !== view.picture) run.changed++
    view = after
  }
  run.used.push('restart')
  view = figure.act(640, 'restart', '')
  if (!view.picture.startsWith('<svg ')) throw new Error(`${name} has no picture after it was started over`)
  runs.push(run)
}
process.stdout.write(JSON.stringify(runs), () => process.exit(0))
