// The picture: what the user wants, what's there, and who acts next.

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Machine } from '../../../xray/web/src/machine'
import { counted, isInTrouble, type Layout, type PodBox, podsOf, progress } from './layout'
import type { Deployment, Node, Process, State } from './messages'
import { actors, heading } from './next'

interface Props {
  state: State
  layout: Layout
  machine: Machine
  now: number // the world's ms since 1970
  speed: number
  chosen: string // the Deployment that the buttons are about
  choose: (deployment: string) => void
  press: (what: 'delete pod' | 'cordon' | 'uncordon' | 'kill node' | 'revive node', about: { pod?: string; node?: string; deployment?: string }) => void
}

export function Picture(p: Props) {
  return <div class="world">
    <section class="wants" aria-label="What you want">
      <h2><i>1</i> You want</h2>
      {p.state.deployments.length === 0 && <p class="hint">Nothing yet: create a Deployment.</p>}
      {p.state.deployments.map((d) => <Wanted key={d.uid} d={d} state={p.state} chosen={d.name === p.chosen} choose={p.choose} />)}
    </section>
    <There {...p} />
    <Next {...p} />
  </div>
}

function Wanted({ d, state, chosen, choose }: { d: Deployment; state: State; chosen: boolean; choose: (name: string) => void }) {
  const { text, trouble } = progress(d, state)
  const ready = podsOf(d, state).filter((p) => p.ready && !p.going)
  const there = ready.filter((p) => p.image === d.image).length
  return <button class={`deployment ${trouble ? 'wrong' : ''} ${d.going ? 'leaving' : ''}`} aria-pressed={chosen} onClick={() => choose(d.name)}
    title="The buttons are about the Deployment that you choose">
    <span class="name">{d.name}</span>
    <span class="number">{d.wanted} <small>×</small> {d.image}</span>
    <span class="filled" aria-hidden="true"><span style={{ transform: `scaleX(${d.wanted === 0 ? 1 : Math.min(1, there / d.wanted)})` }} /></span>
    <span class="said">{ready.length} of {d.wanted} ready{there < ready.length && `, ${ready.length - there} with an old image`}</span>
    <span class="said">{text}</span>
  </button>
}

const narrow = 440 // pixels of three nodes in which two Pods beside each other have no room
const leastRows = 3

function There({ state, layout, chosen, press }: Props) {
  const stage = useRef<HTMLDivElement>(null)
  const [abreast, place] = useState(2)
  useEffect(() => {
    const size = new ResizeObserver(([entry]) => place(entry!.contentRect.width < narrow ? 1 : 2))
    size.observe(stage.current!)
    return () => size.disconnect()
  }, [])
  const rows = Math.max(leastRows, Math.ceil(layout.fullest / abreast))
  return <section class="there" aria-label="What there is">
    <h2><i>2</i> There is</h2>
    <ul class="sets">
      {layout.sets.map(({ set, wanted }) => <li key={set.uid} class={wanted ? 'current' : ''} title={set.name}>
        <b>{set.image}</b> {set.revision ? `revision ${set.revision}` : 'ReplicaSet'}: <span class="count">{counted(set)}</span>
      </li>)}
      {layout.sets.length === 0 && <li class="none">no ReplicaSet</li>}
    </ul>
    <div class="stage" ref={stage} style={{ '--nodes': state.nodes.length, '--rows': rows, '--abreast': abreast, '--strip': Math.ceil(layout.waiting / inStrip) }}>
      <div class="nodes">
        {state.nodes.map((n) => <NodeBox key={n.name} n={n} press={press} />)}
      </div>
      {layout.pods.map((box) => <PodView key={box.pod.uid} box={box} abreast={abreast} press={() => press('delete pod', { pod: box.pod.name, deployment: chosen })} />)}
    </div>
    <ul class="legend" aria-label="Colors">
      <li class="wanted">ready</li><li class="starting">starting</li><li class="old">of an old image</li><li class="trouble">in trouble</li><li class="ending">ending</li>
    </ul>
  </section>
}

const inStrip = 5 // Pods without a node, beside each other

function NodeBox({ n, press }: { n: Node; press: Props['press'] }) {
  const says = n.dead ? (n.ready ? 'silent' : 'lost') : !n.ready ? 'not ready' : n.cordoned ? 'cordoned' : ''
  const button = (what: Parameters<Props['press']>[0], label: string) => <button onClick={() => press(what, { node: n.name })}>{label}</button>
  return <article class={`node ${n.dead ? 'dead' : ''} ${n.cordoned ? 'closed' : ''}`} aria-label={n.name}>
    <h3>{n.name} {says && <span>{says}</span>}</h3>
    <p class="acts">{n.cordoned ? button('uncordon', 'Uncordon') : button('cordon', 'Cordon')}{n.dead ? button('revive node', 'Plug in') : button('kill node', 'Kill')}</p>
  </article>
}

function PodView({ box: { pod, look, column, slot }, abreast, press }: { box: PodBox; abreast: number; press: () => void }) {
  const says = pod.going ? 'ending' : pod.status === 'Running' && !isInTrouble(pod) ? (pod.ready ? 'ready' : 'starting') : pod.status
  const place = column < 0 ? { '--x': slot % inStrip, '--y': -1 - Math.floor(slot / inStrip) } : { '--x': slot % abreast, '--y': Math.floor(slot / abreast), '--column': column }
  return <button class={`pod ${look} ${column < 0 ? 'nowhere' : ''}`} style={place} onClick={press} aria-disabled={pod.going}
    title={`${pod.name}: ${pod.status}. Click to delete it.`} aria-label={`${pod.image} ${says}: Pod ${pod.name}`}>
    <b>{pod.image.replace(/^registry\.invalid\//, '')}</b> <span>{says}</span>
  </button>
}

const seenKinds = ['Deployment', 'ReplicaSet', 'Pod', 'Node']

function Next({ state, machine, now, speed }: Props) {
  const lingers = 900 * Math.min(1, speed || 1)
  const all = actors(state, machine, now)
  const first = all.find((a) => a.busy)
  const leads = state.processes.find((p) => p.leads && p.alive) ?? state.processes.find((p) => p.alive)
  const wrote = all.some((a) => now - a.at < lingers)
  return <section class={`next ${wrote ? 'wrote' : ''}`} aria-label="Who acts next">
    <h2><i>3</i> {heading(all)}</h2>
    <div class="circle">
      <p class="store">API server</p>
      <ul class="watches" aria-label="Watches">
        {seenKinds.map((kind) => {
          const w = machine.watched.get(kind)
          const held = leads?.held.includes(`${kind.toLowerCase()}s`)
          return <li key={kind} class={held ? 'wrong' : w && now - w.events.lastAt < lingers ? 'just' : ''} title={held ? 'This watch is held' : `${kind}s in the cache`}>
            {kind}s {held ? <b>held</b> : <b>{Math.max(0, w?.objects ?? 0)}</b>}
          </li>
        })}
      </ul>
      <ol class="actors">
        {all.map((a) => <li key={a.id} class={`${a === first ? 'first' : ''} ${a.busy || now - a.at < lingers ? 'just' : ''} ${a.trouble ? 'wrong' : ''}`}>
          <b>{a.name}</b><span>{a.says}</span>
        </li>)}
      </ol>
      <p class="back-to">writes go back to the API server</p>
    </div>
    {state.processes.length > 1 && <ul class="processes" aria-label="Processes of mini">
      {state.processes.slice(-4).map((p) => <li key={p.name} class={p.leads && p.alive ? 'just' : ''}>{p.name} {role(p)}</li>)}
    </ul>}
  </section>
}

const role = (p: Process) => (!p.alive ? 'was killed' : p.leads ? 'leads' : 'waits')
