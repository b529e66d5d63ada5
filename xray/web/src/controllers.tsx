// One controller: its handlers, its queues, its workers and its writes.

import { span } from './event'
import type { Group } from './groups'
import { fresh, halfMinute, Sparkline } from './kinds'
import { type Controller, kindsOf, type Source, type Write } from './machine'
import { newRate, type Rate } from './rate'
import type { Chosen } from './story'

const shownItems = 3 // of a queue
const shownKinds = 4 // of handlers

interface Props {
  g: Group
  now: number
  gap: boolean // the sums are too small
  room: number // for so many writes
  stuck: boolean
  choose: (c: Chosen) => void
  watched: (kind: string) => boolean
}

export function ControllerView({ g, now, gap, room, stuck, choose, watched }: Props) {
  const all = g.queues
  const busy = all.some((c) => c.waiting.size + c.running.size > 0)
  const story = (c: Controller) => (name: string) => choose({ kinds: kindsOf(c), name })
  const items = (of: (c: Controller) => Item[]) => all.flatMap((c) => of(c).map((i) => ({ ...i, id: `${c.name} ${i.name}`, story: () => story(c)(i.name) })))
  const waiting = items((c) => [...c.waiting.values()].map((w) => ({ name: w.key, note: `${span(now - w.since)}${w.reason && `, ${w.reason}`}${w.merged ? `, +${w.merged}` : ''}`, old: now - w.since > 5000 })))
  const later = items((c) => [...c.delayed.values()].filter((d) => d.until > now && !c.failing.has(d.key)).sort((a, b) => a.until - b.until)
    .map((d) => ({ name: d.key, note: `in ${span(d.until - now)}` })))
  const failing = items((c) => [...c.failing.values()].sort((a, b) => b.last - a.last).map((f) => {
    const until = c.delayed.get(f.key)?.until ?? 0
    return { name: f.key, note: `failed ${f.times}×${until > now ? `, again in ${span(until - now)}` : ''}`, old: true }
  }))
  const running = items((c) => [...c.running.values()].map((r) => ({ name: r.key, note: `${span(now - r.since)}${r.doing && `, ${r.doing}`}`, old: now - r.since > 5000 })))
  const sum = (of: (c: Controller) => number) => all.reduce((n, c) => n + of(c), 0)
  const failed = sum((c) => c.failed)
  const kinds = [...new Set(all.map((c) => c.kind).filter(Boolean))]
  const writes = all.flatMap((c) => c.writes).sort((a, b) => a.seq - b.seq)
  return <article class={`controller ${stuck ? 'stuck' : ''} ${busy ? 'busy' : ''}`} data-controller={g.name} aria-label={`Controller ${g.name}`}>
    <div class="about">
      <h3>{g.name}{all.length > 1 && <span class="quiet"> {all.length} queues</span>}{kinds.length === 1 && kinds[0]!.toLowerCase() !== g.name && <span class="quiet"> of {kinds[0]}</span>}</h3>
      <Handlers sources={sources(all)} merged={sum((c) => c.merged)} now={now} />
    </div>
    <div class="queue">
      {waiting.length + later.length + failing.length === 0 && <p class="quiet">empty</p>}
      <List title="waiting" items={waiting} more={sum((c) => c.beyond)} />
      {later[0] && <p class="quiet later">later{later.length > 1 && ` ${later.length.toLocaleString('en')}`}: <button class="link" onClick={later[0].story}>{later[0].name}</button> {later[0].note}</p>}
      <List title="back-off" items={failing} />
    </div>
    <div class="workers">
      <List title="now" items={running} />
      <p class="quiet"><Sparkline values={halfMinute(together(all.map((c) => c.reconciles)), now)} /> {gap && 'at least '}{sum((c) => c.succeeded + c.failed).toLocaleString('en')} reconciled
        {failed > 0 && <>, <span class="bad">{failed.toLocaleString('en')} failed</span></>}</p>
    </div>
    <Writes writes={writes} most={busy ? Math.max(2, room) : room} now={now} choose={choose} watched={watched} />
  </article>
}

function Handlers({ sources: all, merged, now }: { sources: Source[]; merged: number; now: number }) {
  const more = all.length > shownKinds ? all.length - shownKinds + 1 : 0
  const filtered = all.reduce((n, s) => n + s.filtered, 0)
  const by = [...new Set(all.map((s) => s.filteredBy).filter(isName))]
  const number = (n: number) => n.toLocaleString('en')
  return <p class="handlers quiet" title={all.map((s) => `${s.kind}: ${number(s.passed)} let through, ${number(s.filtered)} filtered out`).join('\n') + `\n${number(merged)} merged in the queue`}>
    {(more > 0 ? all.slice(0, -more) : all).map((s) => <span key={s.kind} class={fresh(s.lastAt, now)}>{s.kind} {number(s.passed)} </span>)}
    {more > 0 && <span>{more} more kinds </span>}
    {filtered > 0 && <span>{number(filtered)} filtered{by.length === 1 && ` by ${by[0]}`}</span>}
  </p>
}

/** A function without a name has a long one, which tells a reader nothing. */
const isName = (predicate: string) => predicate !== '' && !/\.func\d|\.init\b/.test(predicate)

/** sources are those of all queues of a controller, the busiest first. */
function sources(all: Controller[]): Source[] {
  const sum = new Map<string, Source>()
  for (const s of all.flatMap((c) => [...c.sources.values()])) {
    const before = sum.get(s.kind)
    sum.set(s.kind, before ? {
      ...before, passed: before.passed + s.passed, filtered: before.filtered + s.filtered,
      filteredBy: before.filteredBy || s.filteredBy, lastAt: Math.max(before.lastAt, s.lastAt),
    } : s)
  }
  return all.length > 1 ? [...sum.values()].sort((a, b) => b.passed - a.passed) : [...sum.values()]
}

function together(rates: Rate[]): Rate {
  if (rates.length === 1) return rates[0]!
  const second = Math.max(...rates.map((r) => r.second))
  const sum: Rate = { ...newRate(), second, counts: Array<number>(31).fill(0) }
  for (const r of rates) {
    r.counts.forEach((n, i) => {
      const at = 30 - (second - r.second) - (r.counts.length - 1 - i)
      if (at >= 0) sum.counts[at]! += n
    })
  }
  return sum
}

interface Item { name: string; note: string; old?: boolean }
interface ListProps { title: string; items: (Item & { id: string; story: () => void })[]; more?: number }

function List({ title, items, more = 0 }: ListProps) {
  if (items.length + more === 0) return null
  const all = items.length + more
  return <>
    <h4 class={title}>{title}{all > 1 && <span class="number"> {all.toLocaleString('en')}</span>}</h4>
    <ul class={`items ${title}`}>
      {items.slice(0, shownItems).map((i) => <li key={i.id} class={i.old ? 'old' : ''}>
        <button onClick={i.story} title={`${i.name}: ${i.note}`}><b>{i.name}</b> <span>{i.note}</span></button>
      </li>)}
    </ul>
    {all > shownItems && <p class="quiet">and {(all - shownItems).toLocaleString('en')} more</p>}
  </>
}

interface WritesProps { writes: Write[]; most: number; now: number; choose: (c: Chosen) => void; watched: (kind: string) => boolean }

/** Writes are the latest ones, and one that has just failed is among them. */
export function Writes({ writes, most, now, choose, watched }: WritesProps) {
  const refused = writes.findLast((w) => w.outcome !== '' && now - w.at < 10_000)
  const shown = writes.slice(-most)
  if (refused && !shown.includes(refused)) shown[0] = refused
  return <div class="writes">
    {shown.reverse().map((w) => <WriteView key={w.seq} w={w} now={now} expected={w.version !== '' && watched(w.kind)} story={() => choose({ kinds: [w.kind], name: w.key })} />)}
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
