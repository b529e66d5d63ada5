// The picture: kinds on the left, controllers on the right, and lines between a kind and the
// controllers whose handlers get its events.

import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { clock, plural, span } from './event'
import { type Controller, kindsOf, type Machine, type Watched, type Write } from './machine'
import type { Chosen } from './story'
import type { Trouble } from './troubles'

interface Props {
  machine: Machine
  now: number
  troubles: Trouble[]
  choose: (c: Chosen) => void
}

const shownKinds = 12 // the others are folded
const shownItems = 6 // of a queue
const shownWrites = 3

export function Pipeline({ machine, now, troubles, choose }: Props) {
  const [all, showAll] = useState(false)
  const busiest = [...machine.watched.values()].sort((a, b) => rank(b, troubles) - rank(a, troubles) || b.events.total - a.events.total)
  const kinds = all ? busiest : busiest.slice(0, shownKinds)
  const folded = busiest.length - kinds.length
  const order = new Map([...machine.watched.keys()].map((kind, i) => [kind, i]))
  kinds.sort((a, b) => order.get(a.kind)! - order.get(b.kind)!) // they keep their places
  const controllers = [...machine.controllers.values()].filter((c) => !onlyWrites(c))
  const others = [...machine.controllers.values()].filter(onlyWrites)
  const watched = (kind: string) => machine.watched.has(kind)
  return <div class="pipeline">
    <section class="kinds" aria-label="Watches and caches">
      <h2><span>API server → watch</span><span>cache</span></h2>
      {kinds.map((w) => <Kind key={w.kind} w={w} now={now} stuck={troubles.some((t) => t.about === w.kind)} />)}
      {(folded > 0 || all && busiest.length > shownKinds) &&
        <button class="fold" onClick={() => showAll(!all)}>{all ? 'fewer kinds' : `${plural(folded, 'more kind')}, quieter ones`}</button>}
      {[...machine.leases.values()].map((l) => <article key={l.layer} class="lease" aria-label={`Lease ${l.key}`}>
        <h3>Lease {l.key}</h3><p>{l.op} by {l.layer} at {clock(l.at)}{l.reason && `: ${l.reason}`}</p>
      </article>)}
    </section>
    <Lines machine={machine} kinds={kinds.map((k) => k.kind)} now={now} />
    <section class="controllers" aria-label="Controllers">
      <h2><span>handlers</span><span>queue</span><span>workers</span><span>writes → API server</span></h2>
      {controllers.map((c) => <ControllerView key={c.name} c={c} now={now} stuck={troubles.some((t) => t.about === c.name)} choose={choose} watched={watched} />)}
      {others.map((c) => <article key={c.name} class="others" aria-label={`Writes of the ${c.name}`}>
        <h3>{c.name}{c.writes.every((w) => !w.to) && <span class="quiet"> outside of reconciles</span>}</h3>
        <Writes writes={c.writes} now={now} choose={choose} watched={watched} />
      </article>)}
    </section>
  </div>
}

/** A client that no reconcile uses, or an elector. */
const onlyWrites = (c: Controller) => c.writes.length > 0 && c.sources.size === 0 && c.reconciles.total === 0 && c.waiting.size === 0

const rank = (w: Watched, troubles: Trouble[]) => troubles.some((t) => t.about === w.kind) ? 1 : 0

function Kind({ w, now, stuck }: { w: Watched; now: number; stuck: boolean }) {
  const rate = w.events.perSecond(now)
  const state = w.state === 'failing'
    ? `failing${w.failures > 1 ? `, ${w.failures} times` : ''}${w.retryAt > now ? `; again in ${span(w.retryAt - now)}` : ''}`
    : w.state
  return <article class={`kind ${stuck ? 'stuck' : ''}`} data-kind={w.kind} aria-label={w.kind}>
    <div class={`watch ${w.state}`}>
      <h3>{w.kind}</h3>
      <p><span class="dot" /> {state}{w.version && <> · version <span class="number">{w.version}</span></>}</p>
      <p class="quiet"><Sparkline values={w.events.last(30, now)} /> {rate >= 10 ? Math.round(rate) : rate.toFixed(1)}/s
        {w.relists > 0 && <> · {plural(w.relists, 'relist')}{w.relistReason && `: ${w.relistReason}`}</>}</p>
      {w.state === 'failing' && <p class="why">{w.reason}</p>}
    </div>
    <div class={`cache ${fresh(w.events.lastAt, now)}`}>
      <b class="number">{w.objects.toLocaleString('en')}</b> object{w.objects === 1 ? '' : 's'}
      {w.echoAt > 0 && <p class={`quiet echo ${fresh(w.echoAt, now)}`}>own write back {span(Math.max(0, now - w.echoAt))} ago</p>}
    </div>
  </article>
}

/** fresh marks what has just changed. */
const fresh = (at: number, now: number) => (now - at < 600 ? 'fresh' : '')

function Sparkline({ values }: { values: number[] }) {
  const most = Math.max(1, ...values)
  return <svg class="sparkline" viewBox="0 0 60 14" aria-hidden="true">
    <polyline points={values.map((v, i) => `${i * 2},${13 - 12 * v / most}`).join(' ')} />
  </svg>
}

interface ControllerProps { c: Controller; now: number; stuck: boolean; choose: (c: Chosen) => void; watched: (kind: string) => boolean }

function ControllerView({ c, now, stuck, choose, watched }: ControllerProps) {
  const story = (name: string) => choose({ kinds: kindsOf(c), name })
  const waiting = [...c.waiting.values()]
  const alarms = [...c.delayed.values()].filter((d) => d.until > now && !c.failing.has(d.key)).sort((a, b) => a.until - b.until)
  const failing = [...c.failing.values()].sort((a, b) => b.last - a.last)
  return <article class={`controller ${stuck ? 'stuck' : ''}`} data-controller={c.name} aria-label={`Controller ${c.name}`}>
    <h3>{c.name}{c.kind && c.kind.toLowerCase() !== c.name && <span class="quiet"> of {c.kind}</span>}</h3>
    <div class="handlers">
      {[...c.sources.values()].map((s) => <p key={s.kind} class={fresh(s.lastAt, now)}>
        {s.kind} <span class="number">{s.passed.toLocaleString('en')}</span>
        {s.filtered > 0 && <span class="quiet" title={s.filteredBy}> · {s.filtered.toLocaleString('en')} filtered{isName(s.filteredBy) && ` by ${s.filteredBy}`}</span>}
      </p>)}
      {c.merged > 0 && <p class="quiet">{c.merged.toLocaleString('en')} merged in the queue</p>}
    </div>
    <div class="queue">
      <List title="waiting" items={waiting.map((w) => ({ name: w.key, note: `${span(now - w.since)}${w.reason && `, ${w.reason}`}${w.merged ? `, +${w.merged}` : ''}`, old: now - w.since > 5000 }))} story={story} />
      <List title="later" items={alarms.map((d) => ({ name: d.key, note: `in ${span(d.until - now)}` }))} story={story} />
      <List title="back-off" items={failing.map((f) => {
        const until = c.delayed.get(f.key)?.until ?? 0
        return { name: f.key, note: `failed ${f.times}×${until > now ? `, again in ${span(until - now)}` : ''}`, old: true }
      })} story={story} />
    </div>
    <div class="workers">
      <List title="now" items={[...c.running.values()].map((r) => ({ name: r.key, note: `${span(now - r.since)}${r.doing && `, ${r.doing}`}`, old: now - r.since > 5000 }))} story={story} />
      <p class="quiet"><Sparkline values={c.reconciles.last(30, now)} /> {(c.succeeded + c.failed).toLocaleString('en')} reconciled
        {c.failed > 0 && <>, <span class="bad">{c.failed.toLocaleString('en')} failed</span></>}</p>
    </div>
    <Writes writes={c.writes} now={now} choose={choose} watched={watched} />
  </article>
}

/** A function without a name has a long one, which tells a reader nothing. */
const isName = (predicate: string) => predicate !== '' && !/\.func\d|\.init\b/.test(predicate)

interface Item { name: string; note: string; old?: boolean }

function List({ title, items, story }: { title: string; items: Item[]; story: (name: string) => void }) {
  if (items.length === 0) return null
  return <>
    <h4>{title}{items.length > 1 && <span class="number"> {items.length.toLocaleString('en')}</span>}</h4>
    <ul class="items">
      {items.slice(0, shownItems).map((i) => <li key={i.name} class={i.old ? 'old' : ''}>
        <button onClick={() => story(i.name)} title={`${i.name}: ${i.note}`}><b>{i.name}</b> <span>{i.note}</span></button>
      </li>)}
    </ul>
    {items.length > shownItems && <p class="quiet">and {(items.length - shownItems).toLocaleString('en')} more</p>}
  </>
}

interface WritesProps { writes: Write[]; now: number; choose: (c: Chosen) => void; watched: (kind: string) => boolean }

function Writes({ writes, now, choose, watched }: WritesProps) {
  return <div class="writes">
    {writes.slice(-shownWrites).reverse().map((w) => <WriteView key={w.seq} w={w} now={now} expected={w.version !== '' && watched(w.kind)} story={() => choose({ kinds: [w.kind], name: w.key })} />)}
  </div>
}

/** Of a write that is expected, the watch will bring an event. */
function WriteView({ w, now, expected, story }: { w: Write; now: number; expected: boolean; story: () => void }) {
  const result = w.outcome || 'ok'
  return <button class={`write ${w.outcome ? 'bad' : ''} ${fresh(w.at, now)}`} onClick={story} title={w.reason}>
    <b>{w.verb}</b> {w.kind} {w.key}
    <span> {result}{w.took > 0 && ` in ${span(w.took)}`}{w.echo > w.at ? `, back after ${span(w.echo - w.at)}` : w.echo > 0 ? ', back before the answer' : w.outcome || !expected ? '' : ', not back yet'}</span>
    {w.reason && <span class="reason">{w.reason.split('\n')[0]}</span>}
  </button>
}

/** Lines is drawn between the two halves, from the places where the rows are now. */
function Lines({ machine, kinds, now }: { machine: Machine; kinds: string[]; now: number }) {
  const svg = useRef<SVGSVGElement>(null)
  const [paths, setPaths] = useState<{ id: string; d: string }[]>([])
  const pairs = [...machine.controllers.values()].flatMap((c) =>
    [...c.sources.values()].filter((s) => kinds.includes(s.kind)).map((s) => ({ id: `${s.kind} ${c.name}`, kind: s.kind, to: c.name, at: s.lastAt })))
  useLayoutEffect(() => {
    const box = svg.current?.getBoundingClientRect()
    if (!box) return
    const middle = (selector: string) => {
      const row = document.querySelector(selector)?.getBoundingClientRect()
      return row ? Math.round(row.top + Math.min(row.height, 60) / 2 - box.top) : 0
    }
    const drawn = pairs.map((p) => {
      const from = middle(`[data-kind="${CSS.escape(p.kind)}"]`)
      const to = middle(`[data-controller="${CSS.escape(p.to)}"]`)
      const w = Math.round(box.width)
      return { id: p.id, d: `M0,${from} C${w / 2},${from} ${w / 2},${to} ${w},${to}` }
    })
    if (JSON.stringify(drawn) !== JSON.stringify(paths)) setPaths(drawn)
  })
  return <svg ref={svg} class="lines" aria-hidden="true">
    {paths.map((p) => <path key={p.id} d={p.d} class={fresh(pairs.find((q) => q.id === p.id)?.at ?? 0, now)} />)}
  </svg>
}
