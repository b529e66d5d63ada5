// What is asked before something is done, and what is said afterwards.

import { useEffect, useRef } from 'preact/hooks'
import type { Trial } from './trial'

interface Props {
  trial: Trial
  lasted: number // the world's ms
  answer: (i: number) => void // -1: without an answer
  close: () => void
  hurry: () => void
}

export function Ask({ trial, lasted, answer, close, hurry }: Props) {
  const { phase, question, picked } = trial
  const right = picked === question.right
  const section = useRef<HTMLElement>(null)
  useEffect(() => { if (trial.phase === 'asked') section.current?.focus({ preventScroll: true }) }, [trial]) // Tab leads to the answers
  return <section ref={section} class={`ask ${phase}`} aria-label={trial.what.label} aria-live="polite" tabIndex={-1}>
    {phase !== 'asked' && <button class="close" onClick={close}>{phase === 'running' ? 'Don’t wait' : 'OK'}</button>}
    <pre class="typed">{trial.lines.map((line) => (line.startsWith('#') ? line : `$ ${line}`)).join('\n')}</pre>
    {(phase === 'asked' || picked >= 0) && <p class="asks">{question.asks}</p>}
    {phase === 'asked' && <p class="answers">
      {question.answers.map((text, i) => <button key={text} onClick={() => answer(i)}>{text}</button>)}
      <button class="link" onClick={() => answer(-1)}>Just do it</button>
      <button class="link" onClick={close}>Don’t</button>
    </p>}
    {phase === 'running' && <p class="runs">
      {picked >= 0 && <>You say: {question.answers[picked]}. </>}Let’s see …
      {lasted > 5000 && <> <button onClick={hurry}>Faster</button></>}
    </p>}
    {phase === 'over' && <div class="end">
      {picked >= 0 && <p class={right ? 'right' : 'wrong'}>{right ? 'Yes' : 'No'}: {question.answers[question.right]}.</p>}
      <p><b>{trial.text}</b> {trial.what.why}</p>
    </div>}
    {phase === 'refused' && <p class="wrong">{trial.text}</p>}
  </section>
}
