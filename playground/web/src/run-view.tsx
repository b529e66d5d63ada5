// What a reader sees of a chapter's program: the question, then its output beside X-ray.

import { useEffect, useRef, useState } from 'preact/hooks'
import { Picture, StoryView, troubles } from '../../../xray/web/src/index'
import type { Chosen } from '../../../xray/web/src/story'
import type { Cluster } from './cluster'
import { Program } from './run-program'

interface Props {
  name: string // "06-queue/naive"
  question: string
  loaded: Promise<Cluster>
  again: () => Promise<Cluster> // loads once more, after a failure
  close: () => void
}

const drawnEvery = 50 // ms

/** RunView asks, and runs the program. */
export function RunView({ name, question, loaded, again, close }: Props) {
  const [cluster, setCluster] = useState<Cluster>()
  const [problem, setProblem] = useState('')
  const [predicted, predict] = useState<string>()
  const [program, setProgram] = useState<Program>()
  const [large, setLarge] = useState(false)
  const draw = useDrawing(program)

  const wait = (loading: Promise<Cluster>) => loading.then(setCluster, (e: Error) => setProblem(e.message))
  useEffect(() => { void wait(loaded) }, [loaded])
  useEffect(() => () => program?.stop(), [program])
  const run = () => {
    if (!cluster) return
    program?.stop()
    setProgram(new Program(cluster, name, draw))
  }
  useEffect(() => { if (cluster && predicted !== undefined && !program) run() }, [cluster, predicted])

  return <section class={`run ${large ? 'large' : ''}`} aria-label={title(name)}
    onKeyDown={(e) => { if (e.key === 'Escape' && large) setLarge(false) }}>
    <div class="run-bar">
      <b>{title(name)}</b>
      {cluster && <Time cluster={cluster} began={program?.began ?? cluster.clock.now} ended={program?.ended} />}
      <span class="run-ends">
        {program && (program.phase === 'runs' ? <button onClick={() => program.stop()}>Stop</button> : <button onClick={run}>Run again</button>)}
        <button class="run-larger" aria-pressed={large} onClick={() => setLarge(!large)}>{large ? 'Smaller' : 'Larger'}</button>
        <button aria-label="Close" onClick={close}>✕</button>
      </span>
    </div>
    {problem && <p class="run-problem" role="alert">{problem} <button onClick={() => { setProblem(''); void wait(again()) }}>Try again</button></p>}
    {predicted === undefined
      ? <Question question={question} answer={predict} />
      : <p class="run-predicted">{question}{predicted && <> You predicted: <b>{predicted}</b></>}</p>}
    {predicted !== undefined && !program && !problem && <p class="run-loading" role="status">Loading the program: {SIZE}, once …</p>}
    {program?.phase === 'runs' && program.watched.length > 0 && <Disturb program={program} />}
    {program && <div class={`run-halves ${program.player.events.length > 0 ? 'seen' : ''}`}>
      <Output program={program} predicted={predicted !== ''} />
      {program.player.events.length > 0 && <Beside program={program} />}
    </div>}
  </section>
}

/** title is "Chapter 6, the version that breaks" for 06-queue/naive. */
export function title(name: string): string {
  const [chapter = '', kind] = name.split('/')
  return `Chapter ${Number.parseInt(chapter, 10)}${kind === 'naive' ? ', the version that breaks' : kind ? `, ${kind}` : ''}`
}

function Question({ question, answer }: { question: string; answer: (predicted: string) => void }) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus({ preventScroll: true }), [])
  return <form class="run-question" onSubmit={(e) => { e.preventDefault(); answer(input.current!.value.trim()) }}>
    <label><b>Predict:</b> {question}
      <input ref={input} placeholder="What do you think?" /></label>
    <button type="submit" class="run-go">Run it</button>
  </form>
}

/** Time lets the reader own it, before the program begins, too. */
function Time({ cluster, began, ended }: { cluster: Cluster; began: number; ended: number | undefined }) {
  const { clock } = cluster
  const [, draw] = useState(0)
  const speeds = [['Pause', 0, () => clock.pause()], ['Slow', 0.1, () => clock.slow()], ['Run', 1, () => clock.run()], ['Fast', Infinity, () => clock.run(Infinity)]] as const
  useEffect(() => cluster.on((m) => { if (m.is === 'clock') draw((n) => n + 1) }), [cluster])
  return <span class="run-time" role="group" aria-label="Time">
    {speeds.map(([name, speed, set]) => <button key={name} aria-pressed={clock.speed === speed} onClick={set}>{name}</button>)}
    <button title="On to the next thing that happens" disabled={ended !== undefined} onClick={() => clock.step()}>Step</button>
    <output>{(((ended ?? clock.now) - began) / 1000).toFixed(1)} s</output>
  </span>
}

function Output({ program, predicted }: { program: Program; predicted: boolean }) {
  const pre = useRef<HTMLPreElement>(null)
  const follows = useRef(true) // until the reader scrolls up
  useEffect(() => { if (pre.current && follows.current) pre.current.scrollTop = pre.current.scrollHeight }, [program.output])
  const look = (e: Event) => {
    const p = e.currentTarget as HTMLPreElement
    follows.current = p.scrollTop + p.clientHeight > p.scrollHeight - 30
  }
  return <div class="run-output">
    <pre ref={pre} tabIndex={0} aria-label="What it prints" onScroll={look}>{program.output}</pre>
    <p class="run-said" role="status">{{
      runs: '', stopped: 'Stopped.', failed: '', over: predicted ? 'It’s over. Were you right? The fold below has this output, and says why.' : 'It’s over. The fold below has this output, and says why.',
    }[program.phase]}</p>
    {program.error && <p class="run-problem" role="alert">{program.error}</p>}
  </div>
}

/** Beside is X-ray. A program that records nothing has none. */
function Beside({ program: { player, phase } }: { program: Program }) {
  const [chosen, choose] = useState<Chosen>()
  const { machine, now, events } = player
  return <div class="run-xray">
    <Picture machine={machine} now={now} troubles={phase === 'runs' ? troubles(machine, now) : []} choose={choose} />
    {chosen && <StoryView chosen={chosen} events={events} machine={machine} now={now} close={() => choose(undefined)} choose={choose} />}
  </div>
}

/** Disturb has the buttons for the watches that the program has. */
function Disturb({ program }: { program: Program }) {
  const [chosen, choose] = useState('')
  const watched = program.watched.includes(chosen) ? chosen : program.watched[0]!
  const button = (text: string, name: string, resource = '', means = '') => <button title={means} onClick={() => void program.press(name, resource)}>{text}</button>
  return <div class="run-disturb" role="group" aria-label="Disturb it">
    <label>Watch of <select value={watched} onChange={(e) => choose(e.currentTarget.value)}>
      {program.watched.map((w) => <option key={w}>{w}</option>)}</select></label>
    {program.held.includes(watched) ? button('Let it go on', 'release watch', watched) : button('Hold', 'hold watch', watched, 'It stays open, and nothing comes any more')}
    {button('Cut', 'drop watch', watched, 'Its connection breaks')}
    {button('410 Gone', 'expire watch', watched, 'It breaks, and the server has forgotten where it was')}
    {button('Lose the next answer', 'lose an answer', '', 'The next write arrives, and its answer doesn’t')}
    {program.player.machine.leases.size > 0 && <>{button('Cut off the lease', 'cut the lease')}{button('Restore it', 'restore the lease')}</>}
  </div>
}

/** useDrawing returns what asks for a new picture. While the program runs, one comes 20 times a second. */
function useDrawing(program: Program | undefined): () => void {
  const [, count] = useState(0)
  const asked = useRef(false)
  useEffect(() => {
    if (!program) return
    let frame = 0
    let drawn = 0
    const tick = (at: number) => {
      if (at - drawn >= drawnEvery && (asked.current || program.phase === 'runs')) {
        drawn = at
        asked.current = false
        program.player.tick()
        count((n) => n + 1)
      }
      frame = requestAnimationFrame(tick)
    }
    frame = requestAnimationFrame(tick)
    return () => cancelAnimationFrame(frame)
  }, [program])
  return () => { asked.current = true }
}
