// One object: everything that happened to it, on one axis of time, and as a list.

import { useMemo } from 'preact/hooks'
import { clock, type Event, key, plural, span } from './event'
import type { Machine } from './machine'
import { type Chosen, type Part, story, summary, titleOf } from './story'

const listed = 300

interface Props {
  chosen: Chosen
  events: Event[]
  machine: Machine
  now: number
  close: () => void
  choose: (c: Chosen) => void
}

export function StoryView({ chosen, events, machine, now, close, choose }: Props) {
  const last = events.at(-1)?.seq
  const s = useMemo(() => story(events, chosen, machine), [chosen, last])
  const shown = s.events.slice(-listed)
  return <aside class="story" aria-label={`Story of ${titleOf(chosen)}`}>
    <button class="close" onClick={close} aria-label="Close">×</button>
    <h2>{titleOf(chosen)}</h2>
    <p class="why-line">{s.why}</p>
    {shown.length > 0 && <Axis parts={[['queue', s.waits], ['reconcile', s.reconciles], ['write', s.writes]]}
      watch={s.events.filter((e) => e.kind === 'watch event')} from={shown[0]?.at ?? now}
      to={[...s.waits, ...s.reconciles].some((p) => p.to === 0) ? now : shown.at(-1)?.at ?? now} />}
    {s.events.length > listed && <p class="quiet">The last {listed} of {plural(s.events.length, 'event')}.</p>}
    <ol reversed>{shown.toReversed().map((e) => <Line key={e.seq} e={e} chosen={chosen} choose={choose} />)}</ol>
    {s.aside.length > 0 && <details class="aside">
      <summary>Besides: {summary(s.aside)}</summary>
      <ol reversed>{s.aside.slice(-listed).toReversed().map((e) => <Line key={e.seq} e={e} chosen={chosen} choose={choose} />)}</ol>
    </details>}
  </aside>
}

function Line({ e, chosen, choose }: { e: Event; chosen: Chosen; choose: (c: Chosen) => void }) {
  const name = key(e.namespace, e.name)
  const other = name !== chosen.name || chosen.kinds.length > 0 && e.object !== '' && !chosen.kinds.includes(e.object)
  return <li class={`${kindClass(e)} ${e.outcome.replace(' ', '-')}`}>
    <time>{clock(e.at)}</time> <span class="layer">{e.layer}</span> <b>{e.kind}</b>{' '}
    {other && name && <><button class="link" onClick={() => choose({ kinds: e.object ? [e.object] : [], name })}>{e.object} {name}</button>{' '}</>}
    <span>{e.text}</span>
  </li>
}

const kindClass = (e: Event) => e.kind.replace(' ', '-')

function Axis({ parts, watch, from, to }: { parts: [string, Part[]][]; watch: Event[]; from: number; to: number }) {
  const width = Math.max(1, to - from)
  const x = (at: number) => Math.max(0, Math.min(100, ((at - from) / width) * 100))
  return <figure class="axis" aria-label={`From ${clock(from)} to ${clock(to)}`}>
    <div class="lane"><span>watch</span><div>
      {watch.map((e) => <i key={e.seq} class="mark" style={{ left: `${x(e.at)}%` }} title={`${clock(e.at)} ${e.object} ${key(e.namespace, e.name)}: ${e.text}`} />)}
    </div></div>
    {parts.map(([name, list]) => <div class={`lane lane-${name}`} key={name}><span>{name}</span><div>
      {list.filter((p) => (p.to || to) >= from).map((p, i) => <i key={i} class={`bar ${p.outcome.replace(' ', '-')} ${p.to ? '' : 'open'}`}
        style={{ left: `${x(p.from)}%`, width: `max(3px, ${x(p.to || to) - x(p.from)}%)` }} title={`${clock(p.from)} ${p.text}`} />)}
    </div></div>)}
    <figcaption><span>{clock(from)}</span><span>{span(width)}</span><span>{clock(to)}</span></figcaption>
  </figure>
}
