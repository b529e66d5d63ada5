import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { clock, key, plural } from './event'
import { Pipeline } from './pipeline'
import type { Player, Steps } from './player'
import { type Chosen, parseObject, titleOf } from './story'
import { StoryView } from './storyview'
import { type Trouble, troubles } from './troubles'

const shownTroubles = 4
const remembered = 20_000 // events in which a story is looked for

export function App({ player }: { player: Player }) {
  const [, draw] = useState(0)
  const [chosen, choose] = useState<Chosen>()
  useEffect(() => {
    // At most 20 pictures a second, and none in a tab that nobody sees.
    let frame = 0
    let drawn = 0
    const tick = (at: number) => {
      frame = requestAnimationFrame(tick)
      if (at - drawn < 50) return
      drawn = at
      player.tick()
      draw((n) => n + 1)
    }
    frame = requestAnimationFrame(tick)
    return () => cancelAnimationFrame(frame)
  }, [player])
  useEffect(() => {
    const drop = (e: DragEvent) => {
      e.preventDefault()
      const file = e.dataTransfer?.files[0]
      if (e.type === 'drop' && file) void file.text().then((text) => player.open(text, file.name))
    }
    for (const type of ['dragover', 'drop'] as const) addEventListener(type, drop)
    return () => { for (const type of ['dragover', 'drop'] as const) removeEventListener(type, drop) }
  }, [player])
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.ctrlKey || e.metaKey || e.altKey) return
      if (e.key === 'Escape') choose(undefined)
      else if (e.key === 'p') player.paused ? player.resume() : player.pause()
      else if (e.key === 'ArrowLeft') player.seek(player.played - 1)
      else if (e.key === 'ArrowRight') player.seek(player.played + 1)
      else return
      e.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [player])

  const { machine, now } = player
  // What somebody holds is not stuck.
  const held = player.source === 'live' && !player.paused ? whatIsHeld(player.steps) : ''
  const found = troubles(machine, now).filter((t) => !(player.steps?.holding && t.byReconcile))
  const empty = player.events.length === 0
  const said = useAnnounced(found)
  return <>
    <Header player={player} chosen={chosen} choose={choose} />
    {player.steps && player.source === 'live' && <StepBar player={player} steps={player.steps} />}
    {player.error && <p class="error" role="alert">{player.error}</p>}
    <p class="unseen" role="status">{said}</p>
    <section class="troubles" aria-label="Troubles">
      {held && <p class="held">Held by step mode: {held}.</p>}
      {!empty && !held && found.length === 0 && <p class="fine">Nothing is stuck.</p>}
      <ul>
        {found.slice(0, shownTroubles).map((t) => <li key={t.id}>
          {t.text}
          {t.key && <> <button class="link" onClick={() => choose({ kinds: t.kinds, name: t.key })}>Its story</button></>}
        </li>)}
      </ul>
      {found.length > shownTroubles && <p class="quiet">and {plural(found.length - shownTroubles, 'more trouble')}</p>}
    </section>
    <main>
      {empty ? <Empty player={player} /> : <Pipeline machine={machine} now={now} troubles={found} choose={choose} />}
      {chosen && <StoryView chosen={chosen} events={player.events.slice(Math.max(0, player.played - remembered), player.played)} controllers={machine.controllers} now={now} close={() => choose(undefined)} choose={choose} />}
    </main>
  </>
}

/**
 * useAnnounced returns what a screen reader is to say: a trouble when it comes, and not each time
 * that a number in its sentence changes.
 */
function useAnnounced(found: Trouble[]): string {
  const known = useRef(new Set<string>())
  const said = useRef('')
  const fresh = found.filter((t) => !known.current.has(t.id))
  if (fresh.length > 0) said.current = fresh.map((t) => t.text).join(' ')
  if (found.length === 0) said.current = ''
  known.current = new Set(found.map((t) => t.id))
  return said.current
}

function Header({ player, chosen, choose }: { player: Player; chosen: Chosen | undefined; choose: (c: Chosen) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const file = useRef<HTMLInputElement>(null)
  const last = player.machine.last
  const state = player.source === 'none' ? '' : player.source === 'file' ? 'recording'
    : !player.connected ? 'not connected: trying again' : player.paused ? 'the past' : 'live'
  // A click chooses, too. Not later than the picture: it would write over what is typed next.
  useLayoutEffect(() => { field.current!.value = chosen ? titleOf(chosen) : '' }, [chosen])
  const search = (e: SubmitEvent) => {
    e.preventDefault()
    const typed = (new FormData(e.currentTarget as HTMLFormElement).get('object') as string).trim()
    if (typed) choose(parseObject(typed))
  }
  return <header>
    <h1>X-ray</h1>
    <p class="program"><b>{player.program}</b> <span class={`state ${player.connected ? 'on' : ''}`} role="status">{state}</span></p>
    <form role="search" onSubmit={search}>
      <input ref={field} name="object" type="search" placeholder="object: default/web or Pod default/web-1" aria-label="Object" />
    </form>
    <div class="controls">
      {player.source !== 'none' && <>
        <button onClick={() => player.seek(player.played - 1)} aria-label="One event back" title="one event back (left arrow)">◂</button>
        <button class="play" onClick={() => player.paused ? player.resume() : player.pause()} title="P">
          {player.paused ? (player.source === 'live' ? 'Live' : 'Play') : 'Pause'}
        </button>
        <button onClick={() => player.seek(player.played + 1)} aria-label="One event on" title="one event on (right arrow)">▸</button>
        <input type="range" min={0} max={player.events.length} value={player.played} aria-label="Time"
          aria-valuetext={last ? `${clock(last.at)}, event ${last.seq}` : 'the beginning'}
          onInput={(e) => player.seek(Number(e.currentTarget.value))} />
        <output>{last ? clock(player.now) : ''}</output>
        {player.source === 'file' && <select aria-label="Speed" value={String(player.speed)} onChange={(e) => { player.speed = Number(e.currentTarget.value) }}>
          {[0.01, 0.1, 0.5, 1, 4].map((s) => <option key={s} value={String(s)}>× {s}</option>)}
        </select>}
      </>}
      {player.source === 'live' && <a class="button" href="recording" download>Save</a>}
      <button onClick={() => file.current?.click()}>Open</button>
      <input ref={file} type="file" accept=".jsonl,.json" hidden aria-label="Recording" onChange={(e) => {
        const opened = e.currentTarget.files?.[0]
        if (opened) void opened.text().then((text) => player.open(text, opened.name))
        e.currentTarget.value = ''
      }} />
    </div>
    {player.paused && last && <p class="event">Event {last.seq}: {last.layer} <b>{last.kind}</b> {last.object} {key(last.namespace, last.name)} <span>{last.text}</span></p>}
    {player.machine.lost > 0 && <p class="note">{plural(player.machine.lost, 'event')} came too fast and {player.machine.lost === 1 ? 'is' : 'are'} missing.</p>}
  </header>
}

/** whatIsHeld says what the buttons of step mode keep from going on. */
function whatIsHeld(steps: Steps | undefined): string {
  if (!steps) return ''
  return [steps.holding ? 'the workers' : '', ...steps.held.map((w) => `the watch of ${w}`), steps.cutLease ? 'the lease' : '']
    .filter(Boolean).join(', ')
}

/** StepBar has the buttons that disturb the program, so that one can see what follows. */
function StepBar({ player, steps }: { player: Player; steps: Steps }) {
  const [chosen, choose] = useState('')
  const watched = steps.watched.includes(chosen) ? chosen : steps.watched[0] ?? ''
  const held = steps.held.includes(watched)
  const button = (text: string, press: string, resource = '') => <button disabled={player.paused} onClick={() => void player.press(press, resource)}>{text}</button>
  return <section class="steps" aria-label="Step mode">
    {steps.workers && <>
      <span>workers</span>
      {steps.holding ? <>{button('One step', 'one step')}{button('Go on', 'release workers')}</> : button('Hold', 'hold workers')}
    </>}
    {watched && <>
      <label>watch of <select value={watched} onChange={(e) => choose(e.currentTarget.value)}>{steps.watched.map((w) => <option key={w}>{w}</option>)}</select></label>
      {held ? button('Go on', 'release watch', watched) : button('Hold', 'hold watch', watched)}
      {button('Cut', 'drop watch', watched)}
      {button('410 Gone', 'expire watch', watched)}
    </>}
    <span>next write</span>
    {steps.loseNext ? <b>its answer will be lost</b> : button('Lose the answer', 'lose an answer')}
    {steps.leases && <>
      <span>lease</span>
      {steps.cutLease ? button('Reach it again', 'restore the lease') : button('Cut off', 'cut the lease')}
    </>}
  </section>
}

function Empty({ player }: { player: Player }) {
  if (player.source === 'live') return <p class="empty">{player.connected ? 'Nothing has been recorded yet.' : 'Waiting for the program.'}</p>
  return <p class="empty">Drop a recording here, or open one: a file that X-ray has saved.</p>
}
