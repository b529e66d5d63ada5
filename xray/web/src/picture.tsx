// The picture: the loop that an event takes. The API server on the left; watches and caches, handlers,
// queues and workers to the right of it; and the writes on their way back.

import { useRef, useState } from 'preact/hooks'
import { ControllerView, Writes } from './controllers'
import { clock, plural } from './event'
import { byUrgency, groups, isStuck, kindsByUse, onlyWrites } from './groups'
import { KindView } from './kinds'
import type { Machine } from './machine'
import { Shards } from './shards'
import type { Chosen } from './story'
import type { Trouble } from './troubles'
import { Wires } from './wires'

interface Props {
  machine: Machine
  now: number
  troubles: Trouble[]
  choose: (c: Chosen) => void
}

const shownKinds = 12 // the others are folded
const fewControllers = 4

export function Picture({ machine, now, troubles, choose }: Props) {
  const [all, showAll] = useState(false)
  const loop = useRef<HTMLDivElement>(null)
  const { shown, folded } = kindsByUse(machine, troubles, shownKinds)
  const kinds = all ? [...shown, ...folded] : shown
  const controllers = byUrgency(groups(machine), troubles, now)
  const others = [...machine.controllers.values()].filter(onlyWrites)
  const watched = (kind: string) => machine.watched.has(kind)
  return <div class="picture">
    <div class={`loop ${controllers.length <= fewControllers && kinds.length <= fewControllers + 1 ? 'roomy' : ''}`} ref={loop}>
      <h2 class="at-kinds">list and watch → cache</h2>
      <h2 class="at-controllers"><span>events → controller</span><span>queue</span><span>workers</span><span>writes</span></h2>
      <div class="server" aria-label="API server"><b>API server</b></div>
      <section class="kinds" aria-label="Watches and caches">
        {kinds.map((w) => <KindView key={w.kind} w={w} now={now} stuck={troubles.some((t) => t.about === w.kind)} />)}
        {folded.length > 0 && <button class="fold" onClick={() => showAll(!all)} title={folded.map((w) => w.kind).join(', ')}>
          {all ? 'fewer kinds' : `${plural(folded.length, 'more kind')}, ${folded.every((w) => w.objects === 0) ? 'without objects' : 'quieter ones'}`}</button>}
        {[...machine.leases.values()].map((l) => <article key={l.layer} class="lease" aria-label={`Lease ${l.key}`}>
          <h3>Lease {l.key}</h3><p>{l.op} by {l.layer} at {clock(l.at)}{l.reason && `: ${l.reason}`}</p>
        </article>)}
        <Shards machine={machine} choose={choose} />
      </section>
      <section class="controllers" aria-label="Controllers">
        {controllers.map((g) => <ControllerView key={g.name} g={g} now={now} gap={machine.gap} room={controllers.length <= 2 ? 3 : controllers.length <= fewControllers ? 2 : 1} stuck={isStuck(g, troubles)} choose={choose} watched={watched} />)}
        {others.map((c) => <article key={c.name} class="others" aria-label={`Writes of the ${c.name}`} data-controller={c.name}>
          <h3>{c.name}{c.writes.every((w) => !w.to) && <span class="quiet"> outside of reconciles</span>}</h3>
          <Writes writes={c.writes} most={2} now={now} choose={choose} watched={watched} />
        </article>)}
      </section>
      <p class="back">writes to the API server</p>
      <Wires loop={loop} machine={machine} kinds={kinds.map((k) => k.kind)} controllers={controllers} now={now} />
    </div>
  </div>
}
