// A cluster that runs, with all that one can do to it. What comes is drawn once a frame.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Picture as XRay } from '../../../xray/web/src/picture'
import type { Chosen } from '../../../xray/web/src/story'
import { StoryView } from '../../../xray/web/src/storyview'
import { troubles } from '../../../xray/web/src/troubles'
import { Ask } from './ask'
import { Buttons } from './buttons'
import type { Cluster } from './cluster'
import { layout, type Places } from './layout'
import { Picture } from './picture'
import { shorten } from './prompt'
import { PromptView } from './promptview'
import { Seen } from './seen'
import { TimeBar } from './timebar'
import { Trial } from './trial'
import * as tries from './tries'

const quiet = 250 // ms between two pictures while nothing comes
const hop = 1000 // ms of the cluster's time between two pictures, for readers who don't want to wait
const fromNodes = { 'delete pod': tries.deletePod, cordon: tries.cordon, uncordon: tries.uncordon, 'kill node': tries.killNode, 'revive node': tries.reviveNode }

export function ClusterView({ cluster, small }: { cluster: Cluster; small: boolean }) {
  const [, draw] = useState(0)
  const redraw = () => draw((n) => n + 1)
  const page = useRef({ seen: new Seen(), places: new Map() as Places, asked: new Set<string>(), log: '', begins: false, left: false, shown: true, pressed: '' }).current
  const [trial, show] = useState<Trial>()
  const keepsFocus = useFocus(() => ['.ask', `[data-try="${page.pressed}"]`, '.buttons button'])
  const [chosen, choose] = useState('web')
  const [ended, end] = useState('')
  const moment = () => page.seen.moment(cluster.clock.now)

  useEffect(() => {
    let dirty = true
    const off = cluster.on((m) => {
      if (m.is === 'ended') end(m.error)
      if (page.seen.take(m) || m.is === 'clock') dirty = true
    })
    let frame = 0
    let drawn = 0
    const tick = (at: number) => {
      frame = requestAnimationFrame(tick)
      if (!dirty && at - drawn < quiet) return
      drawn = at
      dirty = false
      redraw()
    }
    frame = requestAnimationFrame(tick)
    void begin()
    return () => { page.left = true; off(); cancelAnimationFrame(frame) }
  }, [cluster])

  const print = (text: string) => {
    page.log = shorten(page.log + text)
    redraw()
  }

  /** begin makes a cluster with a Deployment in it. Writes take a while, so that one can follow them. */
  const begin = async () => {
    if (page.begins) return
    page.begins = true
    try {
      await fill()
    } catch (e) {
      if (!page.left) print(`${(e as Error).message}\n`)
    }
    page.begins = false
  }
  const fill = async () => {
    await cluster.send({ do: 'start', seed: Date.now() % 1e6 })
    await cluster.send({ do: 'act', name: 'slow', args: ['120ms'] })
    page.log = ''
    const line = tries.create.lines(moment()!, {})[0]!
    print(`$ ${line}\n`)
    await cluster.send({ do: 'kubectl', line }, print)
    page.shown = !small
  }

  /** A page about something else shows one rollout by itself, as soon as there's something to roll out. */
  const showOff = (now: tries.Moment) => {
    const about = { deployment: 'web', image: 'web:2' }
    if (page.shown || trial || !tries.settled(now, about, 3)) return
    page.shown = true
    const rollout = new Trial(tries.setImage, about, now)
    void rollout.run(cluster, now, print)
    show(rollout)
  }

  const press = (what: tries.Try, about: tries.About) => {
    const now = moment()
    if (!now) return
    page.pressed = what.id
    const t = new Trial(what, about, now)
    const why = what.cannot(now, about)
    if (why) Object.assign(t, { phase: 'refused', text: why })
    else if (page.asked.has(what.id)) void t.run(cluster, now, print)
    show(t)
  }
  const answer = (i: number) => {
    const now = moment()
    if (!trial || !now) return
    trial.picked = i
    page.asked.add(trial.what.id)
    void trial.run(cluster, now, print).then(redraw)
    redraw()
  }

  const { state } = page.seen
  const now = moment()
  if (ended) return <p class="problem" role="alert">The cluster has stopped: {ended}. Reload the page to start another one.</p>
  if (!state || !now) return <p class="hint">The cluster starts …</p>
  const placed = layout(state, page.places)
  page.places = placed.places
  trial?.look(now)
  showOff(now)
  if (trial?.phase === 'running' && trial.hurries && cluster.clock.speed !== Infinity) cluster.clock.fast(hop)
  const deployment = state.deployments.find((d) => d.name === chosen)?.name ?? state.deployments[0]?.name ?? ''
  const working = page.seen.working
  const time = working.events.at(-1)?.at
  const wall = Math.max(time ?? 0, cluster.clock.began + cluster.clock.now)
  return <div class={`cluster ${small ? 'small' : ''}`} {...keepsFocus}>
    <TimeBar clock={cluster.clock} again={() => { show(undefined); void begin() }} />
    <Picture state={state} layout={placed.layout} machine={working.machine} now={wall} speed={cluster.clock.speed} chosen={deployment} choose={choose}
      press={(what, about) => press(fromNodes[what], about)} />
    <Buttons moment={now} deployment={deployment} small={small} press={press} />
    {trial && <Ask trial={trial} lasted={trial.lasted(now)} answer={answer} close={() => show(undefined)} hurry={() => { trial.hurries = true }} />}
    {!small && <PromptView cluster={cluster} log={page.log} print={print} />}
    {!small && <AllOfIt working={working} now={wall} />}
  </div>
}

/**
 * useFocus gives the focus of an element that is drawn no more to the first of others that is there:
 * whoever presses Enter on an answer would begin anew at the top of the page.
 */
function useFocus(others: () => string[]) {
  const place = useRef<HTMLDivElement>(null)
  const had = useRef<Element>()
  useLayoutEffect(() => {
    if (!had.current || had.current.isConnected) return
    had.current = undefined
    for (const other of others()) {
      const found = place.current?.querySelector<HTMLElement>(other)
      if (found) return found.focus({ preventScroll: true })
    }
  })
  const goes = (e: FocusEvent) => queueMicrotask(() => { // some browsers say so of an element that is removed, too
    if (had.current === e.target && had.current?.isConnected) had.current = undefined
  })
  return { ref: place, onFocusIn: (e: FocusEvent) => { had.current = e.target as Element }, onFocusOut: goes }
}

/** AllOfIt is X-ray's own picture, which draws every box. */
function AllOfIt({ working, now }: { working: Seen['working']; now: number }) {
  const [open, toggle] = useState(false)
  const [story, choose] = useState<Chosen>()
  const found = open ? troubles(working.machine, now) : []
  return <details class="xray" onToggle={(e) => toggle(e.currentTarget.open)}>
    <summary>The same in X-ray: every watch, queue and worker of mini</summary>
    {open && found.length > 0 && <ul class="troubles">{found.slice(0, 3).map((t) => <li key={t.id}>{t.text}</li>)}</ul>}
    {open && <main>
      <XRay machine={working.machine} now={now} troubles={found} choose={choose} />
      {story && <StoryView chosen={story} events={working.events} machine={working.machine} now={now} close={() => choose(undefined)} choose={choose} />}
    </main>}
  </details>
}
